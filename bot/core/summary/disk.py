"""Whether the disk of a running stage will do, and when it will not."""

from datetime import datetime, timedelta

from bot.core.attempt import Attempt
from bot.core.summary import words

LONGEST_S = 10 * 365 * 86400.0  # a later moment is no warning, and hardly a date


def fills_in_s(attempt: Attempt) -> float | None:
    """Seconds until the disk is full at the present rate; None when what is still to come fits, or nothing is known."""
    status = attempt.status or {}
    found, rates = status.get("disk") or {}, status.get("rates") or {}
    sizes = [found.get("used"), found.get("projected"), found.get("free"), rates.get("bytes_s")]
    used, projected, free, rate = (float(size) if isinstance(size, int | float) else None for size in sizes)
    if used is None or projected is None or free is None or not rate or projected - used <= free:
        return None
    left_s = free / rate
    return left_s if 0 <= left_s < LONGEST_S else None


def line(attempt: Attempt, now: datetime) -> str:
    """Disk 1.2 TB projected, 0.8 TB free: full at 14:05. "" when the stage tells nothing of it."""
    found = (attempt.status or {}).get("disk") or {}
    if "projected" not in found or "free" not in found:
        return ""
    said = f"disk {words.size(found['projected'])} projected, {words.size(found['free'])} free"
    left_s = fills_in_s(attempt)
    if left_s is None:
        return said
    full_at = (attempt.seen_at or now) + timedelta(seconds=left_s)
    day = words.moment if left_s < 12 * 3600 else words.ago
    return f"{said}: *full at {day(full_at)}*"
