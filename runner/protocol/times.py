"""Times of the contract: UTC, ISO 8601."""

import time
from datetime import datetime, timezone


def utc_now() -> str:
    """Now, as in 2026-01-31T12:00:00.123Z."""
    return utc_at(time.time())


def utc_at(epoch_s: float) -> str:
    """Seconds since the epoch, written likewise."""
    return datetime.fromtimestamp(epoch_s, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
