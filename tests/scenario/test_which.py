"""More than one run could be meant: the question is asked once, and its answer reaches that run alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.core.model import Phase
from tests.scenario.chat import text
from tests.scenario.room import BEN, BOT, Room

VERY_LATER_S = 16 * 60


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """r1 and r2 wait with their plans."""
    made = Room(tmp_path)
    made.start()
    made.start()
    yield made
    made.down()


def phases(room: Room) -> list[str]:
    return [room.run(run).phase.value for run in ("r1", "r2")]


def test_an_order_for_nobody_asks_which_and_starts_nothing(room: Room) -> None:
    asked = room.say(f"<@{BOT}> go", run=None)
    answer = room.answer(asked)
    assert "r1" in answer and "r2" in answer and "Nothing was changed" in answer
    assert phases(room) == ["waiting", "waiting"]


@pytest.mark.parametrize(("answer", "run"), [("r2", "r2"), ("2", "r2"), ("the first", "r1"), ("r1 please", "r1")])
def test_the_answer_below_the_question_needs_no_mention(room: Room, answer: str, run: str) -> None:
    asked = room.say(f"<@{BOT}> go", run=None)
    room.outcome(asked)
    assert room.tell(answer, run=None, thread=asked.ts).startswith("done: advance")
    room.until(lambda: room.box.works() == [f"{run}-synth-1"] or None, "only that run starts")


def test_a_button_of_the_question_reaches_its_own_run_and_is_used_up(room: Room) -> None:
    asked = room.say(f"<@{BOT}> go with max samples 12", run=None)
    assert "max samples 12" in room.answer(asked)
    card = next(s for s in room.chat.said if s.key.startswith("answer/"))
    value = next(b.value for part in card.card.parts if part.kind == "buttons" for b in part.buttons if "r2" in b.value)
    room.until(lambda: room.store.post(card.key), "the card is known")
    assert room.outcome(room.press_value(card, "advance", value)).startswith("done: advance")
    room.until(lambda: room.box.works() == ["r2-synth-1"] or None, "only r2 starts")
    assert room.run("r2").attempt("r2-synth-1").settings["max_samples"] == 12
    room.until(lambda: not any(part.kind == "buttons" for part in card.card.parts) or None, "its buttons are gone")


def test_the_values_of_the_order_are_not_lost_on_the_way(room: Room) -> None:
    asked = room.say(f"<@{BOT}> go with max samples 12", run=None)
    room.outcome(asked)
    room.tell("r1", run=None, thread=asked.ts)
    room.until(lambda: room.box.works() or None, "it starts")
    assert room.run("r1").attempt("r1-synth-1").settings["max_samples"] == 12


def test_somebody_elses_answer_counts_for_nothing(room: Room) -> None:
    asked = room.say(f"<@{BOT}> go", run=None)
    room.outcome(asked)
    room.tell("r2", BEN, run=None, thread=asked.ts)
    assert phases(room) == ["waiting", "waiting"]


def test_one_answer_is_one_order(room: Room) -> None:
    asked = room.say(f"<@{BOT}> go", run=None)
    room.outcome(asked)
    room.tell("r2", run=None, thread=asked.ts)
    room.tell("r1", run=None, thread=asked.ts)
    assert room.run("r1").phase is Phase.WAITING, "the question was answered before"


def test_an_answer_comes_too_late(room: Room) -> None:
    from datetime import timedelta

    asked = room.say(f"<@{BOT}> go", run=None)
    room.outcome(asked)
    room.clock.offset += timedelta(seconds=VERY_LATER_S)
    room.tell("r2", run=None, thread=asked.ts)
    assert phases(room) == ["waiting", "waiting"]


def test_neither_holds_both(room: Room) -> None:
    asked = room.say(f"<@{BOT}> go", run=None)
    room.outcome(asked)
    room.tell("neither", run=None, thread=asked.ts)
    assert phases(room) == ["held", "held"]


def test_a_cancel_for_nobody_asks_which_and_then_once_more(room: Room) -> None:
    for run in ("r1", "r2"):
        room.tell("go", run=run)
        room.until_phase("running", run)
    asked = room.say(f"<@{BOT}> cancel", run=None)
    assert "r1: cancel" in room.answer(asked)
    assert room.tell("r2", run=None, thread=asked.ts).startswith("done: askcancel")
    assert phases(room) == ["running", "running"] and room.run("r2").question is not None


def test_in_a_direct_message_the_answer_need_not_be_in_the_thread(room: Room) -> None:
    direct = {"channel": "D1", "channel_type": "im"}
    assert room.outcome(room.hear(room.event("go", **direct))) == "asked: which_run"
    assert room.outcome(room.hear(room.event("r2", **direct))).startswith("done: advance")
    assert room.run("r1").phase is Phase.WAITING
    assert "r2: start" in text(next(s for s in room.chat.said if s.channel == "D1").card)
