"""A run whose stages are jobs of a real Slurm, and a controller that goes away in the middle."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosting.slurm import Slurm, why_not
from tests.scenario.conftest import MakeWorld
from tests.scenario.world import pipeline

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not())]
PATIENCE_S = 180.0  # Slurm takes its time, and more on a machine that is busy


@pytest.fixture
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    running = Slurm(tmp_path_factory.mktemp("slurm"))
    yield running
    running.stop()


def test_stages_run_as_jobs_and_an_absent_controller_loses_nothing(
    make_world: MakeWorld, slurm: Slurm, tmp_path: Path
) -> None:
    going = tmp_path / "going"
    going.touch()
    stages = pipeline(synth={"linger": going})
    stages["stages"][0]["slurm"] = {"partition": "debug", "gpus_per_node": 1}
    host = {"kind": "local", "root": str(tmp_path / "host"), "python": sys.executable, "poll_s": 1}
    host["slurm"] = {"conf": str(slurm.conf), "python": sys.executable}
    world = make_world(stages, hosts={"here": host})
    checked = world.bot("check", "--offline")
    assert "ok   host here slurm quick synth: partition debug is up" in checked
    world.up(PATIENCE_S)
    world.say("<@U0BOT> start quick")
    world.until_told("the plan is ready", timeout_s=PATIENCE_S)
    world.say("go", thread=world.head())
    world.until(lambda: world.starts().get("synth"), "synth is at work", PATIENCE_S)
    slurm.controller_down()
    world.until_told("unreachable since", timeout_s=PATIENCE_S)
    assert world.phase() == "running"
    slurm.controller_up()
    world.until_told("reachable again", timeout_s=PATIENCE_S)
    going.unlink()
    world.until_phase("waiting", timeout_s=PATIENCE_S)
    assert {stage: len(tokens) for stage, tokens in world.starts().items()} == {"synth": 1, "extract": 1}
    tokens = [token for found in world.starts().values() for token in found]
    assert [slurm.jobs(token) for token in tokens] == [["COMPLETED"], ["COMPLETED"]]
