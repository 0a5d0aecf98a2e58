"""Times of the contract: UTC, ISO 8601."""

from datetime import datetime, timezone


def utc_now() -> str:
    """Now, as in 2026-01-31T12:00:00.123Z."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
