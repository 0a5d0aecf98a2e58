"""One call of the chat's that fails holds up what must keep its order with it, and nothing else."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.effects import Edit, Post
from bot.core.stored import StoredEffect
from bot.errors import ChatUnavailable
from tests.scenario.room import ADA, VERA, Room, text


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """r1 and r2 are planned; VERA may operate neither."""
    made = Room(tmp_path, roles={"operators": [ADA]})
    made.start()
    made.start()
    yield made
    made.down()


def fails(room: Room, *starts: str, error: ChatUnavailable | None = None) -> None:
    """From now on the calls that start so fail."""
    trouble = error or ChatUnavailable("chat.update: Slack is in trouble (HTTP 500)")
    room.chat.refuse = lambda what: trouble if what.startswith(starts) else None


def pending(room: Room, run: str, kind: type[Post] | type[Edit] = Post) -> list[StoredEffect]:
    return [s for s in room.store.pending_effects() if s.run == run and isinstance(s.effect, kind)]


def whispered(room: Room, user: str) -> str:
    found = room.until(lambda: [text(card) for to, card in room.chat.whispers if to == user] or None, f"{user} is told")
    return "\n".join(found)


def tried_for_minutes(room: Room, stored: StoredEffect) -> None:
    """As if it had been; now it is due once more. Not due in between, lest the bot's own try puts it off again."""
    later = room.clock.now() + timedelta(hours=1)
    for not_before in (*[later] * 7, room.clock.now()):
        room.store.delay_effect(stored.id, not_before, "no answer")
    room.desk.kick()


ONE_CALL = [
    ChatUnavailable("chat.update: Slack is in trouble (HTTP 500)"),
    ChatUnavailable("chat.update: rate limited", retry_after_s=60.0, code="ratelimited"),
    ChatUnavailable("chat.update: missing_scope", fatal=True, code="missing_scope"),
]


@pytest.mark.parametrize("error", ONE_CALL, ids=["500", "429", "scope"])
def test_edits_that_fail_hold_up_neither_refusals_nor_other_runs(room: Room, error: ChatUnavailable) -> None:
    fails(room, "edit", error=error)
    room.tell("go", run="r1")
    room.until(lambda: pending(room, "r1", Edit) or None, "an edit waits")
    assert room.tell("go", VERA, run="r2").startswith("refused")
    assert f"<@{ADA}>" in whispered(room, VERA)
    assert "waits at the plan" in room.answer(room.say("status", run="r2"))
    assert "synthesis" in room.answer(room.say("status", run="r1")), "an edit that is late holds up no post"


def test_a_post_that_gets_no_answer_holds_up_its_run_alone_and_keeps_its_order(room: Room) -> None:
    fails(room, "post r1-synth-1/", error=ChatUnavailable("chat.postMessage: no answer from Slack"))
    room.tell("go", run="r1")
    room.until_phase("running", "r1")
    room.work("r1-synth-1")
    room.tell("go", run="r2")
    room.shown("r2-synth-1/starting")
    assert not [s for s in room.chat.said if s.key.startswith("r1-synth-1")]
    room.chat.refuse = lambda _: None
    room.until(lambda: not pending(room, "r1") or None, "all of r1 is told")
    told = [s.key for s in room.chat.said if s.key.startswith("r1-synth-1/")]
    assert told == sorted(set(told), key=told.index) and told[0] == "r1-synth-1/starting" and len(told) > 1


def test_what_gets_no_answer_is_never_given_up(room: Room) -> None:
    """An edit that is refused often enough is; one that nobody answers comes out once somebody does."""
    fails(room, "edit")
    room.tell("go", run="r1")

    def used() -> StoredEffect | None:
        return next((s for s in pending(room, "r1", Edit) if s.effect.key == "r1/gate/synth/1/used"), None)

    edit = room.until(lambda: edit if (edit := used()) and edit.tries else None, "an edit was tried")
    tried_for_minutes(room, edit)
    room.until(lambda: edit.tries > 9 if (edit := used()) else None, "it is tried once more")
    room.chat.refuse = lambda _: None
    room.clock.offset += timedelta(minutes=2)
    room.until(lambda: used() is None or None, "it is over")
    assert "passed by" in text(room.shown("r1/gate/synth/1").card), "and shown"


def test_a_thread_does_not_fall_silent_behind_what_never_gets_an_answer(room: Room) -> None:
    fails(room, "post r1-synth-1/starting")
    room.tell("go", run="r1")
    room.until_phase("running", "r1")
    [stuck] = room.until(
        lambda: [s for s in pending(room, "r1") if s.effect.key == "r1-synth-1/starting"] or None, "it is stuck"
    )
    room.tell("status", run="r1")
    tried_for_minutes(room, stuck)
    room.until(lambda: [s for s in room.chat.said if s.key.startswith("answer/")] or None, "the rest is told")
    assert [s for s in pending(room, "r1") if s.id == stuck.id], "it is not dropped"


def test_a_dead_token_stops_all_calls(room: Room) -> None:
    dead = ChatUnavailable("chat.update: token_revoked", fatal=True, code="token_revoked", whole=True)
    asked: list[str] = []

    def refuse(what: str) -> ChatUnavailable:
        asked.append(what)
        return dead

    room.chat.refuse = refuse
    room.tell("go", run="r1")
    room.until_phase("running", "r1")
    room.tell("go", run="r2")
    room.until_phase("running", "r2")
    assert len(asked) <= 6, "one call for each wait, and launches go on"
    room.chat.refuse = lambda _: None
    room.until(lambda: (not pending(room, "r1") and not pending(room, "r2")) or None, "all is told in the end")


@pytest.mark.parametrize("code", ["", "not_in_channel"])
def test_a_card_that_cannot_be_drawn_leaves_those_of_other_runs(room: Room, code: str) -> None:
    trouble = ChatUnavailable("chat.update: in trouble", code=code, fatal=bool(code))
    fails(room, f"edit {room.head('r1')}", error=trouble)
    room.tell("go", run="r1")
    room.tell("go", run="r2")
    room.until_phase("running", "r2")
    room.until(lambda: "synthesis runs" in text(room.shown("r2/status").card) or None, "the card of r2 is drawn")
