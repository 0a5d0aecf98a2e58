"""One remote launch and what is believed of it. Frozen: news of it makes a new one."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from bot.core.pipeline import Value


class AttemptState(StrEnum):
    """What the bot believes of one remote launch."""

    LAUNCHING = "launching"
    QUEUED = "queued"
    RUNNING = "running"
    STALLED = "stalled"
    EXITED = "exited"
    UNKNOWN = "unknown"  # host unreachable: everything is kept, nothing restarted
    LOST = "lost"
    CANCELLED = "cancelled"
    REFUSED = "refused"  # the host would not start it; nothing ran
    WITHDRAWN = "withdrawn"  # taken back within the undo window; nothing ran

    @property
    def over(self) -> bool:
        """Nothing more will come of it."""
        return self in _OVER


_OVER = frozenset(
    {
        AttemptState.EXITED,
        AttemptState.LOST,
        AttemptState.CANCELLED,
        AttemptState.REFUSED,
        AttemptState.WITHDRAWN,
    }
)

Purpose = Literal["work", "verify", "check"]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One remote launch: of a stage (work), of its full evidence (verify), of a quick look before a start (check)."""

    id: str
    stage: str
    n: int
    purpose: Purpose
    token: str
    host: str
    started_by: str
    created_at: datetime
    out: str
    settings: dict[str, Value] = field(default_factory=dict)
    state: AttemptState = AttemptState.LAUNCHING
    started_at: str | None = None
    ended_at: str | None = None
    rc: int | None = None
    signal: int | None = None
    why: str = ""
    until: str | None = None  # queued: when its turn will come
    pid: int | None = None
    seen_at: datetime | None = None  # the last answer that told of it
    unknown_since: datetime | None = None
    log_offset: int = 0
    log_age_s: float | None = None
    cpu_s: float | None = None
    idle_s: float = 0.0  # how long neither log nor CPU nor GPU has moved
    stalled_at: datetime | None = None
    disk_warned: bool = False
    log_tail: str = ""
    status: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    evidence: dict[str, Any] | None = None
    metrics: dict[str, float] = field(default_factory=dict)  # the newest figures that the stage reported
    log_path: str = ""  # on its host
    adopted: str = ""  # what it was before it became ours, in words; its exit code is never known

    @property
    def has_started(self) -> bool:
        """Whether its host has told of a process of it."""
        return self.pid is not None or self.started_at is not None

    @property
    def progress(self) -> tuple[float, float | None, str] | None:
        """done, total, unit, as the stage says."""
        found = (self.status or {}).get("progress")
        if not isinstance(found, dict) or not isinstance(found.get("done"), int | float):
            return None
        total = found.get("total")
        return (
            float(found["done"]),
            float(total) if isinstance(total, int | float) else None,
            str(found.get("unit", "")),
        )

    @property
    def percent(self) -> float | None:
        """0 to 100, None when the total is not known."""
        progress = self.progress
        if progress is None or not progress[1]:
            return None
        return min(100.0, 100.0 * progress[0] / progress[1])
