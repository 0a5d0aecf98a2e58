"""When people are reminded that a run waits for them: pure arithmetic of times."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot.core.pipeline import GateSpec, QuietHours

LONGEST_S = 86_400.0


def next_reminder(since: datetime, now: datetime, spec: GateSpec) -> datetime | None:
    """The first reminder after `now` for what waits since `since`; None when the gate wants none.

    Intervals double from `remind_s` to a day. What was missed while nobody looked is not made up for, and a clock
    set back makes a reminder late, never double: how many there were is not counted by the clock.
    """
    if spec.remind_s is None:
        return None
    wait_s, due_s = spec.remind_s, spec.remind_s
    past_s = (now - since).total_seconds()
    while due_s <= past_s:
        wait_s = min(wait_s * 2, max(LONGEST_S, spec.remind_s))
        due_s += wait_s
    return awake(since + timedelta(seconds=due_s), spec.quiet)


def escalates(since: datetime, now: datetime, spec: GateSpec) -> bool:
    """Whether those above are told as well."""
    return spec.escalate_s is not None and (now - since).total_seconds() >= spec.escalate_s


def awake(at: datetime, quiet: QuietHours | None) -> datetime:
    """`at`, or the end of the quiet hours that it falls into. UTC in, UTC out."""
    if quiet is None:
        return at
    zone = ZoneInfo(quiet.tz)
    for _ in range(16):  # a week of quiet days, each with a night of its own
        later = _end_of_quiet(at, quiet, zone)
        if later is None:
            return at
        at = later
    return at


def _end_of_quiet(at: datetime, quiet: QuietHours, zone: ZoneInfo) -> datetime | None:
    """The end of the quiet hours that hold at `at`, None when none do."""
    local = at.astimezone(zone)
    clock, over_midnight = local.time(), quiet.start > quiet.end
    if local.weekday() in quiet.days:
        return _first(local, 1, time(0), zone)
    if quiet.start == quiet.end:
        return None
    if over_midnight and clock >= quiet.start:
        return _first(local, 1, quiet.end, zone)
    if clock < quiet.end and (over_midnight or clock >= quiet.start):
        return _first(local, 0, quiet.end, zone)
    return None


def _first(local: datetime, days: int, clock: time, zone: ZoneInfo) -> datetime:
    """That time of day, `days` later, as UTC; where the clocks show it twice, the first that is not over."""
    day = local.date() + timedelta(days=days)
    twice = [datetime.combine(day, clock.replace(fold=fold), zone).astimezone(UTC) for fold in (0, 1)]
    return next((at for at in sorted(twice) if at > local.astimezone(UTC)), max(twice))
