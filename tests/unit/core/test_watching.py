"""An attempt that does nothing any more is said to be stuck, once; a disk that will not do is told with its hour."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from bot.core import events
from bot.core.attempt import Attempt, AttemptState
from bot.core.effects import Edit, Post
from bot.core.summary.status import progress_line, status_card
from runner.protocol.view import AttemptView
from tests.unit.core.story import Story

BUSY_CPU_S = 5.0  # of CPU time in a minute


class Watched(Story):
    """A run whose first stage is polled once a minute."""

    def __init__(self, gpus: tuple[int, ...] = ()) -> None:
        super().__init__()
        stages = tuple(replace(stage, gpus=gpus, stall_s=600.0) for stage in self.pipeline.stages)
        self.pipeline = replace(self.pipeline, stages=stages)
        self.cpu_s = 0.0
        self.advance()
        self.begin()
        self.effects.clear()

    @property
    def attempt(self) -> Attempt:
        found = self.run.current
        assert found is not None
        return found

    def minute(self, cpu_s: float = 0.0, gpu: float = 0.0, log_age_s: float = 3600.0, **fields: Any) -> None:
        self.now += timedelta(seconds=59)
        self.cpu_s += cpu_s
        attempt = self.attempt
        view = AttemptView(attempt.id, "running", attempt.token, pid=1, cpu_s=self.cpu_s, log_age_s=log_age_s, **fields)
        self.do(events.Seen, view=view, gpu_percent={0: gpu, 1: 0.0})

    def said(self) -> list[str]:
        return [e.card.fallback for e in self.effects if isinstance(e, Post | Edit)]


def status(done: int, **more: Any) -> dict[str, Any]:
    return {"version": 1, "state": "running", "progress": {"done": done, "total": 100, "unit": "samples"}, **more}


def test_idle_for_long_is_stalled_and_said_once() -> None:
    story = Watched()
    for _ in range(10):
        story.minute()
        assert story.attempt.state is AttemptState.RUNNING
    for _ in range(5):
        story.minute()
        assert story.attempt.state is AttemptState.STALLED
    assert len(story.said()) == 1
    assert "synth seems stuck" in story.said()[0] and "1 h 00 m" in story.said()[0]
    assert progress_line(story.attempt).startswith("*stalled*: log, CPU and GPUs idle for 14 m 00 s")
    story.minute(cpu_s=BUSY_CPU_S)
    assert story.attempt.state is AttemptState.RUNNING
    assert "at work again" in story.said()[1]
    for _ in range(10):
        story.minute()
    assert len(story.said()) == 3, "stuck anew, told anew"


def test_one_sign_of_life_is_enough() -> None:
    for sign in ({"cpu_s": BUSY_CPU_S}, {"gpu": 40.0}, {"log_age_s": 5.0}):
        story = Watched(gpus=(0,))
        for _ in range(30):
            story.minute(**sign)
        assert story.attempt.state is AttemptState.RUNNING, sign
    story = Watched()
    for done in range(30):
        story.minute(status=status(done))
    assert story.attempt.state is AttemptState.RUNNING, "progress"


def test_a_strangers_gpu_and_a_heartbeat_are_no_signs_of_life() -> None:
    story = Watched(gpus=(1,))
    for n in range(12):
        story.minute(gpu=99.0, cpu_s=0.3, status=status(7, heartbeat_at=f"2026-01-02T03:{n:02d}:00Z"))
    assert story.attempt.state is AttemptState.STALLED


def test_a_clock_that_jumps_ahead_stalls_nobody() -> None:
    story = Watched()
    story.minute()
    story.now += timedelta(hours=5)
    story.minute()
    assert story.attempt.state is AttemptState.RUNNING
    story.now -= timedelta(hours=5)
    story.minute()
    assert story.attempt.idle_s == 60.0


def test_what_cannot_be_asked_is_unknown_and_not_stuck() -> None:
    story = Watched()
    for _ in range(9):
        story.minute()
    for _ in range(20):
        story.do(events.Unreachable, attempt=story.attempt.id, why="no route")
    assert story.attempt.state is AttemptState.UNKNOWN
    story.minute(cpu_s=100.0)
    assert story.attempt.state is AttemptState.RUNNING


def test_a_disk_that_will_be_full_is_told_once_with_its_hour() -> None:
    story = Watched()
    sizes = {"used": 1e12, "projected": 4e12, "free": 3.5e12}
    story.minute(cpu_s=9, status=status(25, disk=sizes, rates={"bytes_s": 1e8}))
    assert story.said() == []
    for free in (2.0e12, 3.5e12, 1.8e12):
        story.minute(cpu_s=9, status=status(26, disk=dict(sizes, free=free), rates={"bytes_s": 1e8}))
    [said] = story.said()
    full_at = story.now - timedelta(minutes=2) + timedelta(seconds=20000)
    assert f"disk 4 TB projected, 2 TB free: *full at <!date^{int(full_at.timestamp())}^" in said
    facts = status_card(story.run, story.pipeline, story.now).parts[-1]
    assert "1.8 TB free: *full at" in facts.text  # type: ignore[union-attr]


def test_who_waits_says_behind_whom_and_until_when() -> None:
    story = Watched()
    view = AttemptView(
        "r1-synth-1",
        "queued",
        "r1-synth-1.seed",
        why="GPU 0 is held by r0-train-1 (since 2026-01-02 01:00 UTC)",
        until="2026-01-02T04:04:06.000Z",
    )
    story.do(events.Seen, view=view)
    line = progress_line(story.attempt)
    assert line.startswith("queued: GPU 0 is held by r0-train-1 (since 2026-01-02 01:00 UTC), until about <!date^")
    assert "|04:04 UTC> as that reckons" in line


def test_the_remaining_time_comes_with_its_spread_where_that_is_wide() -> None:
    story = Watched()
    story.minute(cpu_s=9, status=status(25, eta_s={"low": 1500, "likely": 1920, "high": 2880}))
    assert "ETA 32 m 00 s (25 m 00 s to 48 m 00 s)" in progress_line(story.attempt)
    story.minute(cpu_s=9, status=status(26, eta_s={"low": 1900, "likely": 1920, "high": 1930}))
    assert progress_line(story.attempt).endswith("ETA 32 m 00 s")
