"""A clock that is set back, a machine that slept: polls go on, nothing is dropped, reminders come once."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.workspace import running_workspace
from tests.hosting.clocks import SetClock, needs_faketime
from tests.scenario.world import World, pipeline

pytestmark = [pytest.mark.slow, needs_faketime]

TICKS = """
import sys, time
from bot.adapters.scheduler import Ticker
ticker = Ticker(lambda: print(time.time(), flush=True), 0.2)
ticker.start()
sys.stdin.read()
ticker.stop()
"""


class ClockedWorld(World):
    """The bot has a clock of its own; hosts and the chat keep the true time."""

    clock: SetClock

    def environment(self) -> dict[str, str]:
        return super().environment() | self.clock.environment


@pytest.fixture
def clock(tmp_path: Path) -> SetClock:
    return SetClock(tmp_path / "clock")


@pytest.fixture
def world(tmp_path: Path, clock: SetClock) -> Iterator[ClockedWorld]:
    with running_workspace() as control:
        stages = pipeline(extract={"seconds": 6})
        next(stage for stage in stages["stages"] if stage["id"] == "vocab")["gate"] = {"remind_s": 60}
        made = ClockedWorld(tmp_path, control, stages)
        made.clock = clock
        try:
            made.up()
            yield made
        finally:
            made.down()


@pytest.mark.parametrize("ahead_s", [0, -3600, 90])
def test_a_set_clock_leaves_sleeps_as_they_are(clock: SetClock, ahead_s: float) -> None:
    clock.set(ahead_s)
    code = "import time; began_s = time.monotonic(); time.sleep(0.2); assert time.monotonic() - began_s >= 0.2"
    subprocess.run([sys.executable, "-c", code], env=clock.environment, timeout=60, check=True)


def test_the_tick_outlives_a_clock_that_is_set_back(clock: SetClock) -> None:
    argv = [sys.executable, "-c", TICKS]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clock.environment, text=True
    ) as ticking:
        assert ticking.stdin is not None and ticking.stdout is not None
        silence = threading.Timer(30, ticking.kill)  # ends the reading, and with it the test
        silence.start()
        first_s = float(ticking.stdout.readline())
        clock.set(-3600)
        later_s, began_s = first_s, time.monotonic()
        while later_s > first_s - 3000:
            later_s = float(ticking.stdout.readline())
        for _ in range(10):
            assert float(ticking.stdout.readline()) < first_s - 3000
        assert time.monotonic() - began_s < 10
        silence.cancel()
        ticking.stdin.close()


def test_an_hour_back_and_ninety_seconds_ahead_lose_nothing(world: ClockedWorld) -> None:
    world.say("<@U0BOT> start quick")
    head = world.head()
    world.until_told("Reply `go`")
    world.say("go", thread=head)
    world.until(lambda: world.starts().get("extract"), "extraction runs")
    world.clock.set(-3600)
    world.until_phase("waiting")
    assert {stage: len(tokens) for stage, tokens in world.starts().items()} == {"synth": 1, "extract": 1}
    assert reminders(world) == 0
    world.clock.set(-3600 + 90)  # the machine slept: nothing of ours saw the time pass
    world.until(lambda: reminders(world) or None, "the reminder comes")
    time.sleep(6)  # longer than it takes to look for reminders again
    assert reminders(world) == 1
    world.say("go", thread=head)
    world.until(lambda: world.starts().get("train"), "training runs")
    world.until_phase("waiting")
    assert {stage: len(tokens) for stage, tokens in world.starts().items()} == dict.fromkeys(
        ("synth", "extract", "vocab", "train"), 1
    )


def reminders(world: ClockedWorld) -> int:
    return sum("Nothing starts by itself" in str(message) for message in world.thread())
