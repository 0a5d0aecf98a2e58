"""Into service: the last hand-off needs two people, and a benchmark can be made again while it waits."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.core.model import Phase
from bot.core.pipeline import GateSpec, StageSpec
from runner.protocol.evidence import Check, Evidence, Subject
from tests.scenario.room import ADA, BEN, Room, pipeline, text


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    deploy = StageSpec(
        id="deploy", title="deployment", aliases=("deploy", "rollout"), verb="deploy", host="box1",
        gate=GateSpec(needed=2), own_out=True,
    )  # fmt: skip
    given = pipeline()
    made = Room(tmp_path, replace(given, stages=(*given.stages, deploy)))
    made.start()
    yield made
    made.down()


def to_deploy_gate(room: Room) -> None:
    room.to_gate()
    room.tell("extraction done, continue")
    room.work("r1-vocab-1")
    room.work("r1-train-1")
    room.shown("r1/gate/bench")
    room.tell("bench it")
    room.work("r1-bench-1")
    room.shown("r1/gate/deploy")


def test_two_people_put_it_into_service_and_the_run_is_done(room: Room) -> None:
    to_deploy_gate(room)
    room.tell("benchmark done, deploy it", ADA)
    room.until(lambda: room.run().phase is Phase.WAITING or None, "one is not enough")
    assert "r1-deploy-1" not in room.box.works()
    room.tell("deploy", ADA)
    assert room.run().phase is Phase.WAITING, "nor is the same one twice"
    room.tell("deploy it", BEN)
    room.work("r1-deploy-1")
    assert "deployment finished" in text(room.shown("r1/done/deploy").card)
    assert room.box.works().count("r1-deploy-1") == 1


def test_a_benchmark_made_again_while_the_deployment_waits(room: Room) -> None:
    to_deploy_gate(room)
    assert "`bench it`" in room.answer(room.say("help"))
    former = room.shown("r1/gate/deploy")
    assert room.tell("bench with steps 5").startswith("done: bench")
    room.until(lambda: "overtaken: measured again" in text(former.card) or None, "nothing to press on the former card")
    room.work("r1-bench-2")
    assert room.run().attempt("r1-bench-2").settings == {"steps": 5}
    room.until(lambda: room.run().gate is not None or None, "the gate is open again")
    assert room.run().gate is not None and room.run().gate.before == "deploy"
    assert not room.run().gate.passed_by and "r1-deploy-1" not in room.box.works()


def test_deploy_is_no_word_for_anything_before_its_gate(room: Room) -> None:
    room.to_gate()
    for said in ("deploy it", "rollout", "continue to deploy", "deploy now"):
        assert not room.tell(said).startswith("done"), said
    assert room.run().phase is Phase.WAITING and room.box.works() == ["r1-synth-1", "r1-extract-1"]


def with_a_picture(ok: bool) -> dict[str, Any]:
    checks = [Check("samples", ok, 10 if ok else 9, 10)]
    return Evidence("train", Subject("/data/train"), checks, pictures=["/data/train/loss.png"]).to_json()


def test_evidence_with_pictures_that_went_bad_behind_an_open_gate_can_be_waived(room: Room) -> None:
    room.box.proofs["train"] = with_a_picture(ok=True)
    room.to_gate()
    room.tell("extraction done, continue")
    room.work("r1-vocab-1")
    room.work("r1-train-1")
    room.shown("r1/gate/bench")
    room.box.proofs["train"] = with_a_picture(ok=False)
    room.tell("bench it")
    room.until_phase("blocked")
    room.answer(room.say("waive because 9 are plenty"))
    assert room.outcome(room.press("answer/", "waive")).startswith("done: waive")


def test_a_gate_that_opens_again_shows_its_pictures_once(tmp_path: Path) -> None:
    given = pipeline()
    stages = tuple(replace(s, gate=GateSpec(needed=2)) if s.measures else s for s in given.stages)
    room = Room(tmp_path, replace(given, stages=stages))
    made = Evidence(
        "train", Subject("/data/train"), [Check("samples", True, 10, 10)], pictures=["/data/train/loss.png"]
    )
    room.box.proofs["train"] = made.to_json()
    room.start()
    try:
        room.to_gate()
        room.tell("extraction done, continue")
        room.work("r1-vocab-1")
        room.work("r1-train-1")
        room.shown("r1/gate/bench")
        for who in (ADA, BEN):
            room.tell("bench it", who)
        room.work("r1-bench-1")
        room.until_phase("done")
        for who in (ADA, BEN):
            assert room.tell("bench it", who).startswith("done: bench"), who
        room.until_launched("r1-bench-2")
    finally:
        room.down()
