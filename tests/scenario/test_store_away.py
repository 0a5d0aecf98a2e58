"""A database that goes away and comes back: nothing is lost, doubled or taken for a fault of somebody else's."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bot.adapters.store import Store
from bot.core.attempt import AttemptState
from bot.core.model import Phase
from bot.errors import StoreUnavailable
from bot.service import engine, inbox
from bot.service.engine import LEASE_S
from tests.scenario.room import BEN, Room


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the database broke is taken up again in less than a second or two."""
    monkeypatch.setattr(engine, "_AGAIN_S", 0.1)
    monkeypatch.setattr(inbox, "_AGAIN_S", 0.2)


@contextmanager
def away(store: Store) -> Iterator[None]:
    """Every transaction fails meanwhile."""

    @contextmanager
    def refuse() -> Iterator[Any]:
        raise StoreUnavailable("the database: connection refused")
        yield

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_read", refuse)
        patch.setattr(store, "_write", refuse)
        yield


def fails_once(room: Room, monkeypatch: pytest.MonkeyPatch, method: str, *, after: bool = False) -> None:
    """The bot's next call breaks, before it is stored or with its answer lost."""
    whole = getattr(room.store, method)

    def broken(*args: Any, **named: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            return whole(*args, **named)
        monkeypatch.setattr(room.store, method, whole)
        if after:
            whole(*args, **named)
        raise StoreUnavailable("the database: server closed the connection unexpectedly")

    monkeypatch.setattr(room.store, method, broken)


@pytest.mark.parametrize("method", ["run", "carried", "save", "note_order", "is_pending"])
def test_an_order_that_the_database_broke_is_carried_out_later(
    room: Room, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    fails_once(room, monkeypatch, method)
    assert room.tell("go").startswith("done: advance")
    room.until_phase("running")
    assert room.box.works() == ["r1-synth-1"]
    assert not [said for said in room.chat.said if said.key.startswith("answer/")], "nothing to apologise for"
    assert len([entry for entry in room.store.orders("r1") if entry["text"] == "go"]) == 1


@pytest.mark.parametrize("method", ["save", "note_order"])
def test_an_order_whose_answer_was_lost_is_not_carried_out_again(
    room: Room, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    fails_once(room, monkeypatch, method, after=True)
    assert room.tell("go").startswith("done: advance")
    room.until_phase("running")
    assert room.box.works() == ["r1-synth-1"]
    assert len([entry for entry in room.store.orders("r1") if entry["text"] == "go"]) == 1


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("method", ["post", "redrawn", "all_runs", "finish_effect", "add_post", "begin_effect"])
def test_whatever_breaks_is_taken_up_again(
    room: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str, after: bool
) -> None:
    fails_once(room, monkeypatch, method, after=after)
    room.to_gate()
    room.until(lambda: "server closed the connection" in caplog.text or None, "it broke")
    assert room.box.works() == ["r1-synth-1", "r1-extract-1"]
    room.until(lambda: room.store.pending_effects() == [] or None, "all is said")
    keys = [said.key for said in room.chat.said]
    assert len(keys) == len(set(keys))
    assert not [record for record in caplog.records if record.exc_info], "no traceback"


def test_while_it_is_away_nothing_is_told_of_attempts(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    room.tell("go")
    room.until(lambda: room.run().attempt("r1-synth-1").state is AttemptState.RUNNING or None, "it is seen to run")
    polled = room.box.polled
    with away(room.store), caplog.at_level(logging.WARNING):
        room.box.end("r1-synth-1")
        with pytest.raises(StoreUnavailable):
            room.say("status", thread=room.chat.said[0].ts)
        room.until(lambda: "connection refused" in caplog.text or None, "it says what is missing")
    assert not [record for record in caplog.records if record.exc_info], "no traceback"
    room.until(lambda: room.box.polled > polled or None, "polls go on")
    room.work("r1-extract-1")
    room.shown("/gate/vocab")
    assert room.tell("extraction done, continue").startswith("done: advance")


def test_a_poll_that_cannot_be_stored_marks_no_attempt(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.tell("go")
    room.until(lambda: room.run().attempt("r1-synth-1").state is AttemptState.RUNNING or None, "it is seen to run")
    states: list[str] = []
    whole = room.store.save

    def save(run: Any, *args: Any, **named: Any) -> None:
        if not states:
            states.append("broken")
            raise StoreUnavailable("the database: connection refused")
        states.append(run.attempt("r1-synth-1").state.value)
        whole(run, *args, **named)

    monkeypatch.setattr(room.store, "save", save)
    room.box.end("r1-synth-1")
    room.until(lambda: len(states) > 1 or None, "it is seen to have ended")
    assert states[1] == "exited"


def test_a_bot_that_slept_looks_who_holds_the_lease_before_it_does_anything(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.store.drop_lease("test")
    assert room.store.take_lease("another", 3600.0) == "another"
    room.clock.slept_s = LEASE_S + 1
    room.until(lambda: caplog.text.count("another bot is at work") >= 2 or None, "both loops have looked")
    event = room.say("go")
    looked = caplog.text.count("another bot is at work")
    room.until(lambda: caplog.text.count("another bot is at work") >= looked + 3 or None, "they look again")
    assert room.store.event_outcome(event.claim_key) is None
    assert room.box.launches == [] and room.run().phase is Phase.WAITING
    room.store.drop_lease("another")
    assert room.outcome(event).startswith("done: advance")
    assert room.store.take_lease("another", 1.0) == "test"


def test_the_lease_is_left_where_it_cannot_be_dropped(room: Room) -> None:
    with away(room.store):
        room.down()


def test_a_post_that_another_bot_has_begun_is_not_posted_beside_it(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    """Both read it as new; one begins it, the other reads it anew and finds what was posted."""
    begin = room.store.begin_effect

    def late(effect_id: int, at: Any) -> None:
        room.store.begin_effect = begin  # type: ignore[method-assign]
        begin(effect_id, at)
        stored = next(each for each in room.store.pending_effects() if each.id == effect_id)
        room.chat.post(stored.effect.key, "C1", None, stored.effect.card, first=True)
        begin(effect_id, at)

    room.store.begin_effect = late  # type: ignore[method-assign]
    event = room.say("is it done?", BEN)
    room.answer(event)
    room.until(lambda: room.store.pending_effects() == [] or None, "all is said")
    keys = [said.key for said in room.chat.said]
    assert len(keys) == len(set(keys))
    assert not [record for record in caplog.records if record.exc_info], "it was not even tried"
