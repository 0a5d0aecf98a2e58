"""The bot is killed in every phase of every stage, and started again: the same run goes on, nothing starts twice."""

import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable

import pytest

from bot.adapters.store import Store
from bot.core.model import Phase, Run
from tests.scenario.conftest import MakeWorld
from tests.scenario.world import World, pipeline

WORDS = {None: "go", "extract": "extraction done, continue", "train": "training done, continue"}
STAGES = ("synth", "extract", "vocab", "train", "bench")
ENOUGH_S = 300.0


def moment(run: Run) -> tuple[str, ...]:
    """What there is to be killed in: the stage, its phase, and how far its launch is."""
    launch = run.current.state.value if run.current and run.phase is Phase.RUNNING else ""
    return run.at, run.phase.value, launch


def drive(world: World, store: Store, kills: Callable[[tuple[str, ...]], float | None]) -> list[tuple[str, ...]]:
    """Answer the gates until the run is done; `kills` says how long after a new moment the bot dies, if it does.

    Every other word is said while the bot is away, and has to be caught up. Returns the moments killed in.
    """
    thread, seen, died, answered = world.head(), set[tuple[str, ...]](), list[tuple[str, ...]](), set[int]()
    until_s = time.monotonic() + ENOUGH_S
    while time.monotonic() < until_s:
        run = store.run("r1")
        if run.phase is Phase.DONE:
            return died
        assert run.phase not in (Phase.FAILED, Phase.BLOCKED, Phase.CANCELLED), world.told()
        now = moment(run)
        delay_s = kills(now) if now not in seen else None
        seen.add(now)
        if delay_s is not None:
            time.sleep(delay_s)
            world.down(signal.SIGKILL)
            died.append(now)
        if run.phase is Phase.WAITING and run.gate is not None and run.gate.version not in answered:
            answered.add(run.gate.version)
            world.say(WORDS[run.gate.after], thread)
        if world.process is None:
            world.up()
        time.sleep(0.01)
    raise AssertionError(f"not done: {world.told()}\n{world.log.read_text()[-4000:]}")


def assert_nothing_happened_twice(world: World) -> None:
    starts = world.starts()
    assert {stage: len(tokens) for stage, tokens in starts.items()} == dict.fromkeys(STAGES, 1)
    works = Counter(path.name for path in world.root.glob("attempts/*") if path.name.count(".") == 0)
    assert works == {f"r1-{stage}-1": 1 for stage in STAGES}
    assert [json.loads(line)["run"] for line in world.bot("runs", "--json").splitlines()] == ["r1"]
    said = Counter(key for message in world.thread() if (key := key_of(message)))
    assert said and set(said.values()) == {1}
    assert "the chain is whole" in world.bot("audit", "verify")


def key_of(message: dict[str, object]) -> str:
    """What the bot's poster marks each message with."""
    metadata = message.get("metadata")
    payload = metadata.get("event_payload") if isinstance(metadata, dict) else None
    return str(payload.get("key", "")) if isinstance(payload, dict) else ""


@pytest.mark.slow
@pytest.mark.parametrize("delay_s", [0.0, 0.15])
def test_killed_in_every_phase_of_every_stage(make_world: MakeWorld, delay_s: float) -> None:
    world = make_world(pipeline(1.0))
    world.up()
    world.say("<@U0BOT> start quick")
    with world.store() as store:
        died = drive(world, store, lambda _: delay_s)
    assert {stage for stage, *_ in died} == set(STAGES)
    assert {"waiting", "starting", "running", "verifying"} <= {phase for _, phase, _ in died}
    assert_nothing_happened_twice(world)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments(make_world: MakeWorld, seed: int) -> None:
    chance = random.Random(seed)
    world = make_world(pipeline(0.5))
    world.up()
    world.say("<@U0BOT> start quick")
    with world.store() as store:
        died = drive(world, store, lambda _: chance.uniform(0, 0.6) if chance.random() < 0.5 else None)
    assert died
    assert_nothing_happened_twice(world)


def test_killed_once_while_a_stage_runs(make_world: MakeWorld) -> None:
    world = make_world(pipeline(extract={"seconds": 1.0}))
    world.up()
    world.say("<@U0BOT> start quick")
    with world.store() as store:
        died = drive(world, store, lambda now: 0.2 if now == ("extract", "running", "running") else None)
    assert len(died) == 1
    assert_nothing_happened_twice(world)
