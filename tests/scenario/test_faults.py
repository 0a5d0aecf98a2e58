"""Crashes, hangs and refusals: nothing is lost, nothing happens twice, nobody else waits."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.core.attempt import AttemptState
from bot.core.effects import Launch
from bot.core.machine.flow import gate_key
from bot.core.model import Phase
from bot.errors import ChatUnavailable
from bot.service.engine import LeaseLost
from tests.scenario.chat import text
from tests.scenario.room import BEN, BOT, Room, pipeline


@pytest.fixture
def two_hosts(tmp_path: Path) -> Iterator[Room]:
    """r1 runs on box1, r2 on box2."""
    made = Room(tmp_path, hosts=("box1", "box2"))
    base = made.pipelines[0]
    stages = tuple(replace(stage, host="box2") for stage in base.stages)
    other = replace(base, name="owl", names=("owl",), stages=stages)
    made.down()
    made.pipelines.append(other)
    made.up()
    made.start("eagle")
    made.start("owl")
    yield made
    made.down()


def test_a_hung_host_delays_nobody_elses_orders(two_hosts: Room) -> None:
    room = two_hosts
    room.tell("go", run="r1")
    room.until_phase("running")
    room.until(lambda: room.run().attempt("r1-synth-1").state is AttemptState.RUNNING or None, "r1 is seen to run")
    release = room.box.hang = threading.Event()
    stuck = [room.say("cancel", run="r1"), room.say("is it done?", run="r1"), room.say("cancel", BEN, run="r1")]
    assert room.tell("go", run="r2").startswith("done: advance")
    room.until(lambda: "r2-synth-1" in room.boxes["box2"].views or None, "r2 is launched")
    assert room.store.event_outcome(stuck[0].claim_key) is None, "it waits for its host"
    release.set()
    room.box.hang = None
    outcomes = [room.outcome(event) for event in stuck]
    assert outcomes[0].startswith("done: askcancel") and outcomes[1] == "shown"


def test_a_chat_that_hangs_delays_no_launch(room: Room) -> None:
    room.to_gate()
    release = room.chat.hang = threading.Event()
    room.say("extraction done, continue")
    room.until(lambda: "r1-vocab-1" in room.box.works() or None, "it is launched although nothing can be said")
    release.set()
    room.chat.hang = None
    room.shown("r1-vocab-1/starting")


def test_what_the_chat_refuses_holds_up_its_own_run_alone_and_is_said_in_order(room: Room) -> None:
    room.start()
    refused = ChatUnavailable("no such channel", code="channel_not_found", fatal=True)
    room.chat.refuse = lambda what: refused if "r1-" in what or "r1/" in what else None
    room.tell("go", run="r1")
    room.until_phase("running", "r1")
    room.tell("go", run="r2")
    assert "Started" in text(room.until(lambda: _card(room, "r2-synth-1/starting", "Started"), "r2 is told of"))
    assert not [s for s in room.chat.said if "r1-synth-1" in s.key]
    room.chat.refuse = lambda _: None
    room.until(lambda: _card(room, "r1-synth-1/starting", "Started"), "r1 is told of in the end, as it is by now")


def _card(room: Room, key: str, said: str) -> Any:
    return next((s.card for s in room.chat.said if key in s.key and said in text(s.card)), None)


def test_an_order_carried_out_before_a_crash_is_not_read_again(room: Room) -> None:
    event = room.say("go")
    room.until_launched("r1-synth-1")
    room.outcome(event)
    _forget(room, event.claim_key)
    assert room.outcome(event) == "done: advance"
    assert room.box.works() == ["r1-synth-1"]
    assert not [s for s in room.chat.said if s.key.startswith("answer/")]
    assert not room.store.verify_orders().fault


def _forget(room: Room, claim: str) -> None:
    """As if the bot had died between the order's transaction and the mark that its event was handled."""
    import sqlalchemy as sa

    from bot.adapters.store.schema import effects, events
    from bot.service.outcome import answer_key

    with room.store._write() as connection:
        body = connection.execute(sa.select(events.c.body).where(events.c.claim == claim)).scalar_one()
        key = answer_key(room.event("").from_json(body))
        connection.execute(effects.delete().where(effects.c.key.startswith(key)))
        connection.execute(events.update().where(events.c.claim == claim).values(handled_at=None, outcome=None))
    room.desk.kick()


def test_an_order_of_the_last_moment_survives_the_engines_end(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.start()
    event = room.event("go", thread=room.head())
    room.down()
    room.up()
    room.store.claim(event.claim_key, room.clock.now(), vars(event))
    room.desk.kick()
    room.until_phase("running")
    room.down()


def test_a_restart_within_the_undo_window_launches_once(tmp_path: Path) -> None:
    room = Room(tmp_path, undo_s=60)
    room.start()
    room.tell("go")
    assert room.run().phase is Phase.STARTING
    room.down()
    room.up()
    room.pass_time(61)
    room.until_launched("r1-synth-1")
    room.down()
    room.up()
    room.until(lambda: room.store.pending_effects() == [] or None, "nothing is left to do")
    assert room.box.works() == ["r1-synth-1"]
    room.down()


def test_open_gates_are_drawn_again_after_a_restart(room: Room) -> None:
    room.to_gate()
    run = room.run()
    assert run.gate is not None
    ts = room.shown(gate_key(run, run.gate)).ts
    before = len([at for at, _ in room.chat.edits if at == ts])
    room.down()
    room.up()
    room.until(lambda: len([at for at, _ in room.chat.edits if at == ts]) > before or None, "its buttons are new")
    assert room.outcome(room.press("r1/gate/vocab", "advance")).startswith("done: advance")


def test_a_cancel_that_overtakes_a_launch_leaves_nothing_running(room: Room) -> None:
    room.box.launches_fail = True
    room.tell("go")
    room.until_phase("running")
    room.until(lambda: room.run().attempt("r1-synth-1").state is AttemptState.UNKNOWN or None, "it is unknown")
    assert room.tell("cancel").startswith(("asked", "done: askcancel"))
    if room.run().question is None:
        room.outcome(room.press("answer/", "cancel"))
    room.outcome(room.press("r1/cancel/", "cancel_yes"))
    room.until_phase("cancelled")
    room.box.launches_fail = False
    pending = room.store.pending_effects
    room.until(lambda: not any(isinstance(stored.effect, Launch) for stored in pending()), "no launch is left")
    assert room.box.works() == [] and "never started" in str(room.run().attempt("r1-synth-1").why)


def test_a_host_that_was_away_during_the_launch_is_no_failure(room: Room) -> None:
    room.box.down = True
    room.tell("go")
    room.until_phase("running")
    room.until(lambda: room.run().attempt("r1-synth-1").state is AttemptState.UNKNOWN or None, "it is unknown")
    room.box.down = False
    room.until(lambda: "r1-synth-1" in room.box.views or None, "it is launched after all")
    room.until(lambda: room.run().attempt("r1-synth-1").state is AttemptState.RUNNING or None, "it is seen")
    assert room.run().phase is Phase.RUNNING


def test_a_refused_launch_is_told_and_can_be_retried(room: Room) -> None:
    room.box.refuses = "no space left on device"
    room.tell("go")
    room.until_phase("failed")
    assert "no space left on device" in text(room.shown("/failed").card)
    room.box.refuses = ""
    assert room.outcome(room.press("/failed", "retry")).startswith("done: retry")
    room.until(lambda: room.box.works() == ["r1-synth-2"] or None, "it is launched")
    assert room.box.launches[0].limits.disk_bytes == 50_000, "and the space is looked at again"


def test_a_clock_set_back_an_hour_delays_no_launch(tmp_path: Path) -> None:
    room = Room(tmp_path, undo_s=60)
    room.start()
    room.tell("go")
    room.pass_time(-3600)
    assert room.engine is not None
    room.engine.tick()
    assert room.box.works() == []
    room.pass_time(61)
    room.until_launched("r1-synth-1")
    room.down()


def test_a_second_bot_is_refused_and_told_who_holds_the_lease(room: Room) -> None:
    from bot.service.engine import Engine

    second = Engine(room.desk, "another")
    with pytest.raises(LeaseLost, match="test"):
        second.start()


def test_an_internal_error_is_owned_up_to_once_and_blocks_nothing(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    from bot.service import views

    def broken(*_: object) -> None:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(views, "answer", broken)
    answer = room.answer(room.say("status"))
    assert "internal error (ZeroDivisionError)" in answer and "Nothing was started" in answer
    assert room.tell("go").startswith("done: advance")


def test_a_group_that_the_chat_does_not_tell_is_answered_as_that(tmp_path: Path) -> None:
    room = Room(tmp_path, pipeline(), roles={"operators": ["S0MLOPS"]})

    def nobody_knows(group: str) -> frozenset[str]:
        raise ChatUnavailable("timeout")

    room.groups["S0MLOPS"] = frozenset({BEN})
    assert room.tell(f"<@{BOT}> start eagle", BEN, run=None) == "done: planned r1"
    room.desk.members = nobody_knows
    assert room.tell("go", BEN).startswith("refused")
    told = room.until(lambda: text(room.chat.whispers[0][1]) if room.chat.whispers else None, "he is told")
    assert "<!subteam^S0MLOPS>" in told and "say it again" in told and room.run().phase is Phase.WAITING
    room.down()


def test_a_failure_names_the_log_where_it_lies_on_the_host(room: Room) -> None:
    room.tell("go")
    room.work("r1-synth-1", rc=1)
    card = room.shown("r1-synth-1/failed")
    assert "box1:/srv/pointsman/attempts/r1-synth-1/log.txt" in text(card)
