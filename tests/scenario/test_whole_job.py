"""The main job for real: ops/demo on the real model, its bot killed in every stage."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.scenario.world import CHECKOUT

STAGES = ["synth", "extract", "vocab", "train", "bench"]


@pytest.mark.slow
@pytest.mark.sglang
def test_the_demo_ends_with_a_drafter_although_its_bot_is_killed_in_every_stage(tmp_path: Path) -> None:
    done = subprocess.run(
        [CHECKOUT / "ops/demo", "--auto", "--kill-each-stage", "--state", str(tmp_path / "demo")],
        capture_output=True,
        text=True,
        timeout=2000,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = done.stdout.splitlines()
    report = json.loads(line)
    assert report["phase"] == "done" and report["started_once"]
    assert report["bot_killed_in"] == STAGES == [stage["stage"] for stage in report["stages"]]
    assert {stage["verdict"] for stage in report["stages"]} == {"proven"}
    assert {stage["attempts"] for stage in report["stages"]} == {1}
    assert report["acceptance_length"] > 1.05
    assert report["identical"] == [8, 8]
    assert min(report["tok_s"].values()) > 0
