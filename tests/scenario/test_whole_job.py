"""The main job for real: the demo on the real model, with less of everything, its bot killed in every stage."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.scenario.world import CHECKOUT

STAGES = ["synth", "extract", "vocab", "train", "bench"]
PROMPTS = 4
LESS = {"max_samples": 64, "num_prompts": PROMPTS, "rounds": 1}


def less_of_it(folder: Path) -> Path:
    """The shipped pipeline with other defaults."""
    made = yaml.safe_load((CHECKOUT / "ops/pipelines/demo.yaml").read_text())
    for stage in made["stages"]:
        for name, value in LESS.items():
            if name in stage["params"]:
                stage["params"][name]["default"] = value
    made["stages"][0]["args"]["seconds"] = 60
    file = folder / "demo.yaml"
    file.write_text(yaml.safe_dump(made))
    return file


@pytest.mark.slow
@pytest.mark.sglang
def test_the_demo_ends_with_a_drafter_although_its_bot_is_killed_in_every_stage(tmp_path: Path) -> None:
    demo = [CHECKOUT / "ops/demo", "--auto", "--kill-each-stage", "--pipeline", less_of_it(tmp_path)]
    done = subprocess.run([*demo, "--state", tmp_path / "demo"], capture_output=True, text=True, timeout=2000)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = done.stdout.splitlines()
    report = json.loads(line)
    assert report["phase"] == "done" and report["started_once"]
    assert report["bot_killed_in"] == STAGES == [stage["stage"] for stage in report["stages"]]
    assert {stage["verdict"] for stage in report["stages"]} == {"proven"}
    assert {stage["attempts"] for stage in report["stages"]} == {1}
    assert report["acceptance_length"] > 1.05
    assert report["identical"] == [PROMPTS, PROMPTS]
    assert min(report["tok_s"].values()) > 0
