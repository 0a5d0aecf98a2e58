"""Who may pass a gate, how many it takes, and that an order can be taken back."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.model import Phase
from bot.core.pipeline import GateSpec, Pipeline
from tests.scenario.chat import text
from tests.scenario.room import ADA, BEN, BOT, VERA, Room, pipeline

Make = Callable[..., Room]
GROUP = "S0MLOPS"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """`make(pipeline, roles=...)`; ended with the test."""
    made: list[Room] = []

    def open_room(given: Pipeline | None = None, **config: Any) -> Room:
        made.append(Room(tmp_path, given, **config))
        return made[-1]

    yield open_room
    for room in made:
        room.down()


def whispered(room: Room, user: str) -> str:
    return room.until(lambda: next((text(c) for u, c in room.chat.whispers if u == user), None), f"{user} is told")


def test_somebody_not_allowed_is_told_alone_who_may(make: Make) -> None:
    room = make(roles={"operators": [ADA], "admins": [BEN]})
    room.start()
    before = len(room.chat.said)
    event = room.say("go", VERA)
    assert room.outcome(event) == "refused: not allowed"
    told = whispered(room, VERA)
    assert f"<@{ADA}>" in told and f"<@{BEN}>" in told and "Nothing was changed" in told
    room.until(lambda: room.chat.marks.get(event.ts) == ["no_entry_sign"] or None, "it is marked as refused")
    assert len(room.chat.said) == before, "nothing was said to the others"
    assert room.run().phase is Phase.WAITING and room.box.launches == []


def test_a_click_of_somebody_not_allowed_is_refused_too(make: Make) -> None:
    room = make(roles={"operators": [ADA]})
    room.start()
    assert room.outcome(room.press("/gate/synth", "advance", VERA)) == "refused: advance not allowed"
    assert f"Only <@{ADA}> may" in whispered(room, VERA)


def test_whoever_may_not_order_may_look_but_not_hold(make: Make) -> None:
    room = make(roles={"operators": [ADA]})
    room.start()
    assert room.tell("status", VERA) == "shown"
    assert not room.tell("hold", VERA).startswith("done"), "a hold is an order too: only seen by who may give it"


def test_a_group_passes_as_its_members(make: Make) -> None:
    room = make(roles={"operators": [ADA, GROUP]})
    room.groups[GROUP] = frozenset({BEN})
    room.start()
    assert room.tell("go", VERA).startswith("refused")
    assert f"<!subteam^{GROUP}>" in whispered(room, VERA)
    assert room.tell("go", BEN).startswith("done: advance")


def test_a_pipeline_has_people_of_its_own(make: Make) -> None:
    room = make(replace(pipeline(), operators=(BEN,)), roles={"operators": [ADA, BEN]})
    assert room.tell(f"<@{BOT}> start eagle", ADA, run=None).startswith("refused")
    assert room.tell(f"<@{BOT}> start eagle", BEN, run=None).startswith("done: planned")
    assert room.tell("go", ADA).startswith("refused")
    assert room.tell("go", BEN).startswith("done: advance")


def test_a_gate_narrows_down_who_may(make: Make) -> None:
    room = make(pipeline(vocab=GateSpec(people=(BEN,), roles=("operator",))), roles={"operators": [ADA, BEN]})
    room.start()
    room.to_gate()
    assert room.tell("extraction done, continue", ADA) == "refused: advance not allowed"
    told = whispered(room, ADA)
    assert f"<@{BEN}>" in told and f"<@{ADA}>" not in told
    assert room.tell("extraction done, continue", BEN).startswith("done: advance")


def test_a_gate_for_admins_alone(make: Make) -> None:
    room = make(pipeline(vocab=GateSpec(roles=("admin",))), roles={"operators": [ADA], "admins": [BEN]})
    room.start()
    room.to_gate()
    assert room.tell("continue", ADA).startswith("refused")
    assert room.tell("continue", BEN).startswith("done: advance")


def test_a_benchmark_that_the_gate_leads_to_is_for_whoever_may_pass_that_gate(make: Make) -> None:
    given = pipeline(vocab=GateSpec(people=(BEN,), roles=("operator",)))
    stages = tuple(replace(s, gate=None) if s.measures else s for s in given.stages)
    room = make(replace(given, stages=stages), roles={"operators": [ADA, BEN]})
    room.start()
    room.to_gate()
    assert room.tell("bench it", ADA) == "refused: bench not allowed"
    assert room.run().phase is Phase.WAITING
    assert room.tell("bench it", BEN).startswith("done: bench")


def test_a_failed_stage_is_started_with_other_values_by_whoever_its_gate_asks_for(make: Make) -> None:
    room = make(pipeline(synth=GateSpec(needed=2, people=(ADA, BEN), roles=("operator",))))
    room.start()
    room.tell("go", ADA)
    room.tell("go", BEN)
    room.work("r1-synth-1", rc=1)
    room.shown("r1-synth-1/failed")
    assert room.tell("retry with max samples 12", VERA) == "refused: retry not allowed"
    room.tell("retry with max samples 12", ADA)
    assert room.run().phase is Phase.WAITING, "nobody else has seen the new value"
    room.tell("go", BEN)
    room.until(lambda: "r1-synth-2" in room.box.works() or None, "both have passed it as it is")


def test_two_different_people_where_the_gate_asks_for_two(make: Make) -> None:
    room = make(pipeline(vocab=GateSpec(needed=2)))
    room.start()
    room.to_gate()
    assert "2 different people" in text(room.shown("/gate/vocab").card)
    room.tell("extraction done, continue", ADA)
    room.tell("extraction done, continue", ADA)
    assert room.run().phase is Phase.WAITING, "one person twice is one person"
    room.until(lambda: "1 more needed" in "".join(room.texts()) or None, "the card counts")
    assert room.outcome(room.press("/gate/vocab", "advance", BEN)).startswith("done: advance")
    room.until(lambda: "r1-vocab-1" in room.box.works() or None, "it starts")


def test_a_changed_value_has_to_be_passed_anew(make: Make) -> None:
    room = make(pipeline(synth=GateSpec(needed=2)))
    room.start()
    room.tell("go", ADA)
    room.tell("max samples 12", BEN)
    room.tell("go", BEN)
    assert room.run().phase is Phase.WAITING, "she has not seen the new value"
    room.tell("go", ADA)
    room.until(lambda: room.box.works() or None, "both have passed it as it is")


def test_what_is_dear_needs_a_second_person(make: Make) -> None:
    room = make(pipeline(synth=GateSpec(second_above_s=100.0)))
    room.start()
    assert "2 different people" not in text(room.shown("/gate/synth").card)
    room.tell("max samples 400")  # 2 s each
    room.until(lambda: "2 different people" in text(room.shown("/gate/synth").card) or None, "it has become dear")
    room.tell("go", ADA)
    assert room.run().phase is Phase.WAITING
    room.tell("go", BEN)
    room.until(lambda: room.box.works() or None, "the second one starts it")


def test_cancel_within_the_undo_window_by_anybody_allowed(make: Make) -> None:
    room = make(undo_s=60, roles={"operators": [ADA, BEN]})
    room.start()
    room.tell("go", ADA)
    assert room.outcome(room.press("r1-synth-1/starting", "undo", VERA)).startswith("refused")
    assert room.outcome(room.press("r1-synth-1/starting", "undo", BEN)).startswith("done: hold")
    assert room.run().phase is Phase.HELD
    room.until(lambda: room.store.pending_effects() == [] or None, "nothing is left to do")
    assert room.box.launches == []


def test_once_it_runs_the_undo_button_is_of_an_earlier_moment(make: Make) -> None:
    room = make(undo_s=60)
    room.start()
    room.tell("go")
    said, value = room.button("r1-synth-1/starting", "undo")
    room.pass_time(61)
    room.until_phase("running")
    assert room.outcome(room.press_value(said, "undo", value)) == "refused: an old button"
    assert room.run().phase is Phase.RUNNING


def test_a_click_on_a_card_two_days_old_tells_who_was_quicker(make: Make) -> None:
    room = make()
    room.start()
    said = room.shown("/gate/synth")
    value = next(b.value for p in said.card.parts if p.kind == "buttons" for b in p.buttons if b.action == "advance")
    room.tell("go", ADA)
    room.until_launched("r1-synth-1")
    room.clock.offset += timedelta(days=2)
    assert room.outcome(room.press_value(said, "advance", value, BEN)) == "refused: an old button"
    assert f"<@{ADA}> started" in whispered(room, BEN) and room.box.works() == ["r1-synth-1"]


def test_one_order_passes_one_gate(make: Make) -> None:
    room = make()
    room.start()
    room.to_gate()
    room.tell("extraction done, continue")
    for attempt in ("r1-vocab-1", "r1-train-1"):
        room.work(attempt)
    room.shown("/gate/bench")
    assert room.run().phase is Phase.WAITING and "r1-bench-1" not in room.box.works()


@pytest.mark.parametrize(("done", "starts"), [(10, True), (7, False)])
def test_what_is_armed_at_a_milestone_starts_only_once_it_was_reached(make: Make, done: int, starts: bool) -> None:
    room = make()
    room.start()
    room.tell("go")
    room.work("r1-synth-1")
    room.until(lambda: "r1-extract-1" in room.box.views or None, "extraction runs")
    room.box.progress("r1-extract-1", 2)
    room.until(lambda: room.run().attempt("r1-extract-1").progress, "it is seen")
    room.answer(room.say("continue at 8 samples"))
    assert room.outcome(room.press("answer/", "arm")).startswith("done: arm")
    room.box.progress("r1-extract-1", done)
    room.work("r1-extract-1")
    if starts:
        room.until(lambda: "r1-vocab-1" in room.box.works() or None, "it goes on by itself")
    else:
        assert "not reached" in text(room.shown("/not-reached/").card)
        assert room.run().phase is Phase.WAITING and "r1-vocab-1" not in room.box.works()
