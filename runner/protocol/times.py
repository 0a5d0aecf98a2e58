"""Times of the contract: UTC, ISO 8601."""

import time
from datetime import datetime, timezone


def utc_now() -> str:
    """Now, as in 2026-01-31T12:00:00.123Z."""
    return utc_at(time.time())


def epoch_s(text: str) -> float:
    """Seconds since the epoch of a time written so. Raises ValueError."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp()


def utc_at(seconds: float) -> str:
    """Seconds since the epoch, written likewise."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
