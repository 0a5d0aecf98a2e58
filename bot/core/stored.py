"""What the store hands back besides runs and orders."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.effects import Effect


@dataclass(frozen=True, kw_only=True)
class StoredEffect:
    """A pending effect. `begun`: it may have happened already."""

    id: int
    run: str
    effect: Effect
    begun: bool
    tries: int
    not_before: datetime


@dataclass(frozen=True, kw_only=True)
class Posted:
    """Where something was posted, and the digest of what it showed last."""

    key: str
    run: str
    channel: str
    ts: str
    thread_ts: str | None
    at: str
    digest: str
