"""Adopt and cleanup with a real bot and a real host, said from a terminal."""

import hashlib
from pathlib import Path

import pytest

from tests.scenario.conftest import MakeWorld
from tests.scenario.world import pipeline

pytestmark = pytest.mark.slow


def test_a_failed_run_is_cleaned_and_goes_on_with_a_folder_that_is_there(make_world: MakeWorld, tmp_path: Path) -> None:
    there = tmp_path / "data" / "a set"
    there.mkdir(parents=True)
    for i in range(10):
        (there / f"{i:05d}").write_text(hashlib.sha256(str(i).encode()).hexdigest())
    world = make_world(pipeline(synth={"fail_at": 3}))
    world.up()
    world.say("<@U0BOT> start quick")
    world.until_told("the plan is ready")
    world.say("go", thread=world.head())
    world.until_phase("failed")
    made = world.root / "runs/r1/synth"
    assert made.exists()
    assert "Say `cleanup` first" in world.bot("say", "confirm cleanup", "--run", "r1")
    shown = world.bot("say", "cleanup", "--run", "r1")
    assert str(made) in shown and "confirm cleanup" in shown
    assert made.exists(), "showing deletes nothing"
    assert "done: deleted" in world.bot("say", "confirm cleanup", "--run", "r1")
    assert not made.exists() and not (world.root / "attempts/r1-synth-1").exists()
    world.until_told("Deleted")
    assert "deleted" in world.bot("audit", "--run", "r1")

    assert "refused" in world.bot("say", f'adopt here:"{there}x" as extract', "--run", "r1")
    assert "done: adopt" in world.bot("say", f'adopt here:"{there}" as extraction', "--run", "r1")
    world.until_phase("waiting")
    world.until_told("stands on its evidence alone")
    assert there.exists() and not [path for path in there.iterdir() if path.name == "starts"], "nothing ran in it"
