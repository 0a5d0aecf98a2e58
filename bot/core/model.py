"""A run and what belongs to it. Frozen: a step makes a new one."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from bot.core.attempt import Attempt, AttemptState, Purpose
from bot.core.pipeline import Pipeline, Value


class Phase(StrEnum):
    """Where a run stands. One transition table, in `bot.core.machine`, says how it moves."""

    WAITING = "waiting"  # a gate is open
    HELD = "held"  # a gate is open and somebody said hold
    CHECKING = "checking"  # an order came; the evidence is looked at once more before it counts
    STARTING = "starting"  # accepted; the launch waits for the undo window
    RUNNING = "running"  # a stage's attempt is launched or being launched
    VERIFYING = "verifying"  # the stage ended with 0; its evidence is being made
    BLOCKED = "blocked"  # the evidence contradicts, or could not be made
    FAILED = "failed"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class StageRun:
    """One stage of one run. `state`: pending, active, proven, waived, blocked, failed, cancelled."""

    id: str
    state: Literal["pending", "active", "proven", "waived", "blocked", "failed", "cancelled"] = "pending"
    overrides: dict[str, Value] = field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()
    waived_by: str = ""
    waived_why: str = ""

    @property
    def stands(self) -> bool:
        """Whether what it made may be built upon."""
        return self.state in ("proven", "waived")

    def latest(self, *purposes: Purpose) -> Attempt | None:
        """The newest attempt of these purposes (all, when none are given) that was not taken back: it made nothing."""
        return next((a for a in self._newest_first(purposes) if a.state is not AttemptState.WITHDRAWN), None)

    def newest(self, *purposes: Purpose) -> Attempt | None:
        """The same, taken back or not: for numbers and buttons, which are used once."""
        return next(self._newest_first(purposes), None)

    def _newest_first(self, purposes: tuple[Purpose, ...]) -> Iterator[Attempt]:
        return (a for a in reversed(self.attempts) if not purposes or a.purpose in purposes)

    @property
    def evidence(self) -> dict[str, Any] | None:
        """The newest evidence of the newest work."""
        made = self._with_evidence()
        return made[-1].evidence if made else None

    @property
    def full_evidence(self) -> dict[str, Any] | None:
        """The newest that was made when the work ended, not the quicker looks before a start; else the newest."""
        made = self._with_evidence()
        full = [a for a in made if a.purpose != "check"]
        return (full or made)[-1].evidence if made else None

    def _with_evidence(self) -> list[Attempt]:
        work = self.latest("work")
        return [a for a in self.attempts if work and a.n == work.n and a.evidence is not None]


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The hand-off before stage `before`. `after` is the stage that ended, None for the plan."""

    before: str
    after: str | None
    leads_to: str
    opened_at: datetime
    needed: int
    roles: tuple[str, ...]
    version: int
    passed_by: tuple[tuple[str, str], ...] = ()  # who, when (ISO)
    held_by: str = ""
    held_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Armed:
    """An accepted order that waits for the machine's proof."""

    by: str
    at: datetime
    stage: str  # the stage whose proof is waited for
    when: dict[str, float] = field(default_factory=dict)  # a milestone to be reached as well: {"samples": 9000}
    said: tuple[str, str] | None = None  # channel and ts of the message, for reactions


@dataclass(frozen=True, kw_only=True)
class Starting:
    """The undo window of an accepted order. `back` is where the run returns to when it is taken back."""

    by: str
    at: datetime
    until: datetime
    attempt: str
    back: Phase
    was_at: str
    kept: tuple[tuple[str, dict[str, Value]], ...] = ()  # overrides by stage as they were before the order


@dataclass(frozen=True, kw_only=True)
class Reminder:
    """When whoever may decide is told again that the run waits. Stored, so that a restart repeats none."""

    since: datetime
    next_at: datetime
    sent: int = 0


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the bot has asked and waits for an answer to."""

    kind: Literal["cancel_confirm", "which_run"]
    proposed: str
    asked_at: datetime
    asked_of: str
    version: int


@dataclass(frozen=True, kw_only=True)
class Started:
    """The last order that started something."""

    by: str
    at: datetime
    stage: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """One pass of a pipeline, one thread."""

    id: str
    pipeline: str
    title: str
    channel: str
    owner: str
    created_at: datetime
    seed: str  # the random part of this run's tokens, made once
    stages: tuple[StageRun, ...]
    phase: Phase
    at: str  # the stage it is about
    phase_since: datetime
    gate: Gate | None = None
    armed: Armed | None = None
    starting: Starting | None = None
    question: Question | None = None
    started: Started | None = None
    reminder: Reminder | None = None
    watchers: tuple[str, ...] = ()  # people who want to be told of the next turn
    cleaned: Started | None = None  # the last order that deleted what it had made
    version: int = 0
    ended_at: datetime | None = None

    def stage(self, id_: str) -> StageRun:
        """Raises KeyError."""
        for stage in self.stages:
            if stage.id == id_:
                return stage
        raise KeyError(id_)

    def benched(self, pipeline: Pipeline) -> bool:
        """Whether a benchmark stands, so that another can be put beside it."""
        return pipeline.measuring is not None and self.stage(pipeline.measuring.id).stands

    def attempt(self, id_: str) -> Attempt:
        """Raises KeyError."""
        for stage in self.stages:
            for attempt in stage.attempts:
                if attempt.id == id_:
                    return attempt
        raise KeyError(id_)

    def with_stage(self, stage: StageRun) -> "Run":
        return replace(self, stages=tuple(stage if s.id == stage.id else s for s in self.stages))

    def with_attempt(self, attempt: Attempt) -> "Run":
        """The attempt replaced, or added as the newest of its stage."""
        stage = self.stage(attempt.stage)
        known = any(a.id == attempt.id for a in stage.attempts)
        attempts = tuple(attempt if a.id == attempt.id else a for a in stage.attempts)
        return self.with_stage(replace(stage, attempts=attempts if known else (*attempts, attempt)))

    def told(self, *more: str) -> tuple[str, ...]:
        """Whom the next turn concerns: the owner, whoever asked to be told, and `more`."""
        return tuple(sorted({self.owner, *self.watchers, *more} - {""}))

    @property
    def latest_order(self) -> Started | None:
        """The last order to go on: one that is being checked, is about to start something, or has started it."""
        if self.starting is not None:
            return Started(by=self.starting.by, at=self.starting.at, stage=self.at)
        if self.phase is Phase.CHECKING and self.armed is not None and self.gate is not None:
            return Started(by=self.armed.by, at=self.armed.at, stage=self.gate.before)
        return self.started

    def precedes(self, first: str, second: str) -> bool:
        """Whether stage `first` comes before stage `second`."""
        order = [stage.id for stage in self.stages]
        return order.index(first) < order.index(second)

    @property
    def live(self) -> tuple[Attempt, ...]:
        """Attempts of which something is still to come."""
        return tuple(a for s in self.stages for a in s.attempts if not a.state.over)

    @property
    def current(self) -> Attempt | None:
        """The newest work attempt of the stage the run is about."""
        return self.stage(self.at).latest("work")

    @property
    def moment(self) -> str:
        """What a button is made for: the newest work here, even one that was taken back, so that none counts twice."""
        newest = self.stage(self.at).newest("work")
        return newest.id if newest else ""
