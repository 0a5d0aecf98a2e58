"""The main job in the channel, from the plan to a second benchmark, on quick stages."""

from tests.scenario.world import World


def test_from_the_plan_to_two_benchmarks_side_by_side(world: World) -> None:
    thread = world.head()
    world.until_told("the plan")
    world.say("go", thread)
    world.until_gate("extract")
    told = world.until_told("extraction finished")
    assert "samples" in told and "checksums" in told
    world.say("extraction done, continue", thread)
    world.until_told("training finished")
    world.say("continue", thread)
    world.until_phase("done")
    world.say("bench with steps 5", thread)
    told = world.until_told("r1/done/bench/2")
    assert "95" in told and "93" in told and "With 5 steps it pays." in told
    starts = world.starts()
    assert {stage: len(set(tokens)) for stage, tokens in starts.items()} == {
        "synth": 1, "extract": 1, "vocab": 1, "train": 1, "bench": 2,
    }  # fmt: skip
    assert all(len(set(tokens)) == len(tokens) for tokens in starts.values())
    assert "the chain is whole" in world.bot("audit", "verify")
