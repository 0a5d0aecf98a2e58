""" "generate 5k more": the plan and its cost first, one button, what exists is kept, everything behind it made anew."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.core.attempt import AttemptState
from bot.core.model import Phase
from bot.core.pipeline import Estimate, GateSpec, Param
from tests.scenario.chat import text
from tests.scenario.room import BEN, Room, pipeline

SAMPLES = Param(name="max_samples", type="int", default=10, low=1, high=20000)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    base = pipeline()
    each = Estimate(count="max_samples", unit="samples", seconds_each=3.0, tokens_each=100, bytes_per_token=1000)
    extract = replace(base.stages[1], params=(SAMPLES,), estimate=each)
    made = Room(tmp_path, replace(base, stages=(base.stages[0], extract, *base.stages[2:])))
    made.start()
    yield made
    made.down()


def finish_making(room: Room, n: int) -> None:
    room.work(f"r1-synth-{n}")
    room.work(f"r1-extract-{n}")


def test_more_samples_are_shown_with_their_cost_and_made_by_one_button(room: Room) -> None:
    room.to_gate()
    answer = room.answer(room.say("generate 5k more"))
    assert "5,000 more samples, 10 → 5,010" in answer and "what exists is kept" in answer
    assert "about 6 h 56 m" in answer and "525 MB more" in answer, "5,000 × (2 + 3) s; 5,000 × 100 × (50 + 1,000) B"
    assert "vocabulary, training, benchmark are made anew" in answer
    assert room.box.works() == ["r1-synth-1", "r1-extract-1"] and room.run().phase is Phase.WAITING
    assert room.outcome(room.press("answer/", "extend")).startswith("done: extend")
    finish_making(room, 2)
    room.until(
        lambda: (room.run().gate is not None and room.run().phase is Phase.WAITING) or None, "the gate opens again"
    )
    by_id = {spec.attempt: spec for spec in room.box.launches}
    for stage in ("synth", "extract"):
        assert by_id[f"r1-{stage}-2"].params["max_samples"] == 5010
        assert by_id[f"r1-{stage}-2"].out == by_id[f"r1-{stage}-1"].out, "on what is there"
    room.tell("extraction done, continue")
    room.until(lambda: "r1-vocab-1" in room.box.works() or None, "and then it goes on as ever")


def test_a_figure_is_asked_for_where_none_is_given(room: Room) -> None:
    room.to_gate()
    answer = room.answer(room.say("generate some more samples"))
    assert '"action": "extend"' not in answer


def test_more_than_the_pipeline_allows_has_no_button(room: Room) -> None:
    room.to_gate()
    answer = room.answer(room.say("generate 50k more"))
    assert "at most 20,000 samples" in answer and '"action": "extend"' not in answer


def test_a_stage_that_runs_is_not_changed(room: Room) -> None:
    room.tell("go")
    room.until(lambda: "r1-synth-1" in room.box.views or None, "it runs")
    answer = room.answer(room.say("generate 5k more"))
    assert "Say it again when it has ended" in answer and '"action": "extend"' not in answer


def test_of_a_plan_only_the_plan_changes(room: Room) -> None:
    answer = room.answer(room.say("generate 5k more"))
    assert "only the plan changes" in answer and "what exists is kept" not in answer
    assert room.outcome(room.press("answer/", "extend")).startswith("done: extend")
    assert room.run().phase is Phase.WAITING and room.box.launches == []
    room.tell("go")
    finish_making(room, 1)
    room.shown("/gate/vocab")
    assert [spec.params["max_samples"] for spec in room.box.launches if "." not in spec.attempt] == [5010, 5010]


def test_an_extension_taken_back_leaves_everything_as_it_was(room: Room) -> None:
    room.to_gate()
    room.undo(60)
    room.answer(room.say("generate 5k more"))
    room.outcome(room.press("answer/", "extend"))
    assert room.outcome(room.press("r1-synth-2/starting", "undo", BEN)).startswith("done: hold")
    assert room.run().stage("synth").overrides == {} and room.run().stage("extract").state == "proven"
    assert "r1-synth-2" not in room.box.works()
    room.undo(0.1)
    room.tell("extraction done, continue", BEN)
    room.until(lambda: "r1-vocab-1" in room.box.works() or None, "what was there still stands")


@pytest.fixture
def at_synth(tmp_path: Path) -> Iterator[Room]:
    """The gate before extract: what an extension runs again is the very stage the run is about."""
    made = Room(tmp_path, pipeline(extract=GateSpec()), undo_s=0.1)
    made.start()
    made.tell("go")
    made.work("r1-synth-1")
    made.shown("/gate/extract")
    made.undo(60)
    yield made
    made.down()


def taken_back(room: Room) -> None:
    room.answer(room.say("generate 5 more"))
    assert room.outcome(room.press("answer/", "extend")).startswith("done: extend")
    assert room.tell("wait", BEN).startswith("done: hold")
    assert room.run().attempt("r1-synth-2").state is AttemptState.WITHDRAWN


def test_the_gate_of_what_an_extension_was_taken_back_from_looks_at_the_work_that_was_done(at_synth: Room) -> None:
    room = at_synth
    taken_back(room)
    current = room.run().current
    assert current is not None and (current.id, current.rc) == ("r1-synth-1", 0)
    room.undo(0.1)
    assert room.tell("continue", BEN).startswith("done: advance")
    room.until(lambda: "r1-extract-1" in room.box.works() or None, "what was there still stands")
    assert room.box.works() == ["r1-synth-1", "r1-extract-1"]
    assert [spec.attempt for spec in room.box.launches if "check" in spec.attempt] == ["r1-synth-1.check1"]
    assert room.run().stage("synth").state == "proven"


def test_after_one_taken_back_the_next_has_a_number_of_its_own_and_the_old_button_does_nothing(at_synth: Room) -> None:
    room = at_synth
    room.answer(room.say("generate 5 more"))
    said = room.shown("answer/")
    value = next(b.value for p in said.card.parts if p.kind == "buttons" for b in p.buttons if b.action == "extend")
    assert room.outcome(room.press_value(said, "extend", value)).startswith("done: extend")
    room.tell("wait", BEN)
    assert room.outcome(room.press_value(said, "extend", value)) == "refused: an old button"
    assert room.run().phase is Phase.HELD
    room.undo(0.1)
    room.answer(room.say("generate 5 more"))
    assert room.outcome(room.press("answer/", "extend")).startswith("done: extend"), "a new button is of this moment"
    room.until(lambda: room.box.works() == ["r1-synth-1", "r1-synth-3"] or None, "it is made under a number of its own")


def test_a_failure_whose_retry_was_taken_back_is_still_the_failure_it_was(at_synth: Room) -> None:
    room = at_synth
    room.undo(0.1)
    room.tell("continue")
    room.work("r1-extract-1", rc=7)
    room.until_phase("failed")
    room.undo(60)
    assert room.tell("retry").startswith("done: retry")
    room.tell("wait", BEN)
    current = room.run().current
    assert room.run().phase is Phase.FAILED and current is not None and current.rc == 7


def test_a_button_pressed_twice_makes_it_once(room: Room) -> None:
    room.to_gate()
    room.answer(room.say("generate 5k more"))
    said = room.shown("answer/")
    value = next(b.value for p in said.card.parts if p.kind == "buttons" for b in p.buttons if b.action == "extend")
    clicks = [room.press_value(said, "extend", value, who) for who in (BEN, BEN, "U0ADA")]
    outcomes = [room.outcome(click) for click in clicks]
    assert sum(outcome.startswith("done: extend") for outcome in outcomes) == 1
    assert room.run().stage("synth").overrides == {"max_samples": 5010}


def test_after_the_benchmark_too(room: Room) -> None:
    room.to_gate()
    room.tell("extraction done, continue")
    for attempt in ("r1-vocab-1", "r1-train-1"):
        room.work(attempt)
    room.shown("/gate/bench")
    room.tell("training done, continue")
    room.work("r1-bench-1")
    room.until_phase("done")
    room.answer(room.say("generate 5k more"))
    assert room.outcome(room.press("answer/", "extend")).startswith("done: extend")
    finish_making(room, 2)
    room.until_phase("waiting")
    assert {stage.id: stage.state for stage in room.run().stages}["train"] == "pending"
    room.tell("extraction done, continue")
    room.until(lambda: "r1-vocab-2" in room.box.works() or None, "what is behind it is made anew")


def test_two_have_to_agree_where_the_plan_asks_for_two(tmp_path: Path) -> None:
    made = Room(tmp_path / "two", pipeline(synth=GateSpec(needed=2)))
    made.start()
    made.tell("go", "U0ADA")
    made.tell("go", BEN)
    made.work("r1-synth-1")
    made.work("r1-extract-1")
    made.shown("/gate/vocab")
    made.answer(made.say("generate 5 more"))
    made.outcome(made.press("answer/", "extend"))
    assert made.run().phase is Phase.WAITING and "r1-synth-2" not in made.box.works()
    assert "1 more needed" in "".join(made.texts())
    made.outcome(made.press("/gate/synth", "advance", BEN))
    made.until(lambda: "r1-synth-2" in made.box.works() or None, "the second one starts it")
    assert "5 more" in text(made.shown("answer/").card)
    made.down()
