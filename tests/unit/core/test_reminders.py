"""When somebody is reminded: growing intervals, quiet hours by the clocks of a place, and nothing ever starts."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core import events
from bot.core.effects import Post
from bot.core.model import Phase
from bot.core.pipeline import GateSpec, QuietHours
from bot.core.reminders import awake, escalates, next_reminder
from tests.unit.core.story import Story

BERLIN = QuietHours(start=time(22), end=time(7), tz="Europe/Berlin")
WEEKEND = QuietHours(start=time(22), end=time(7), tz="Europe/Berlin", days=(5, 6))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_intervals_double_up_to_a_day() -> None:
    since, spec = utc("2026-12-01 08:00"), GateSpec(remind_s=3600)
    now, hours = since, []
    for _ in range(7):
        due = next_reminder(since, now, spec)
        assert due is not None
        hours.append((due - since) / timedelta(hours=1))
        now = due
    assert hours == [1, 3, 7, 15, 31, 55, 79]


def test_what_was_missed_is_not_made_up_for() -> None:
    since, spec = utc("2026-12-01 08:00"), GateSpec(remind_s=3600)
    assert next_reminder(since, since + timedelta(hours=8), spec) == since + timedelta(hours=15)


def test_a_gate_may_want_none() -> None:
    assert next_reminder(utc("2026-12-01 08:00"), utc("2026-12-01 08:00"), GateSpec(remind_s=None)) is None


@pytest.mark.parametrize(
    ("at", "until"),
    [
        ("2026-12-01 20:59", "2026-12-01 20:59"),  # 21:59 in Berlin
        ("2026-12-01 21:00", "2026-12-02 06:00"),  # 22:00, over midnight, winter
        ("2026-12-02 05:59", "2026-12-02 06:00"),
        ("2026-12-02 06:00", "2026-12-02 06:00"),
        ("2026-07-01 20:00", "2026-07-02 05:00"),  # summer: one hour earlier in UTC
        ("2026-03-28 22:00", "2026-03-29 05:00"),  # the night the clocks go forward: an hour shorter
        ("2026-10-24 21:00", "2026-10-25 06:00"),  # the night they go back: an hour longer
    ],
)
def test_quiet_hours_follow_the_clocks_of_the_place(at: str, until: str) -> None:
    assert awake(utc(at), BERLIN) == utc(until)


def test_quiet_days_end_with_the_night_after_them() -> None:
    assert awake(utc("2026-12-04 21:30"), WEEKEND) == utc("2026-12-07 06:00"), "Friday night to Monday morning"


def test_an_end_that_comes_twice_counts_the_first_time() -> None:
    quiet = QuietHours(start=time(22), end=time(2, 30), tz="Europe/Berlin")
    assert awake(utc("2026-10-24 21:00"), quiet) == utc("2026-10-25 00:30")
    assert awake(utc("2026-10-25 00:40"), quiet) == utc("2026-10-25 00:40"), "02:40 the first time: the night is over"


def test_an_end_that_the_clocks_leave_out_is_passed_by() -> None:
    quiet = QuietHours(start=time(22), end=time(2, 30), tz="Europe/Berlin")
    assert awake(utc("2026-03-28 22:00"), quiet) in (utc("2026-03-29 00:30"), utc("2026-03-29 01:30"))


@settings(max_examples=50)
@given(
    at=st.datetimes(datetime(2025, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC)),
    start=st.times(),
    end=st.times(),
    tz=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
    days=st.sets(st.integers(0, 6), max_size=3),
)
def test_nobody_is_ever_woken_and_nobody_is_forgotten(
    at: datetime, start: time, end: time, tz: str, days: set[int]
) -> None:
    quiet = QuietHours(start=start.replace(microsecond=0), end=end.replace(microsecond=0), tz=tz, days=tuple(days))
    later = awake(at, quiet)
    assert at <= later <= at + timedelta(days=6)
    assert awake(later, quiet) == later


def test_those_above_are_told_after_their_time() -> None:
    spec = GateSpec(escalate_s=7200, escalate_to=("UBOSS",))
    since = utc("2026-12-01 08:00")
    assert not escalates(since, since + timedelta(seconds=7199), spec)
    assert escalates(since, since + timedelta(seconds=7200), spec)


def remind(story: Story, hours: float) -> list[Post]:
    due = story.run.reminder
    assert due is not None
    story.now = due.since + timedelta(hours=hours)
    return [effect for effect in story.do(events.Remind) if isinstance(effect, Post)]


def test_a_reminder_is_said_once_and_starts_nothing() -> None:
    story = Story()
    assert remind(story, 0.5) == []
    said = remind(story, 1.1)
    assert len(said) == 1 and "Nothing starts by itself" in said[0].card.fallback + str(said[0].card.parts)
    assert remind(story, 1.2) == [], "the next one is stored with it, so that no restart says it twice"
    for hours in (4, 10, 30, 100, 1000):
        remind(story, hours)
    assert story.phase is Phase.WAITING and story.launches() == []


def test_whoever_is_on_hold_is_left_alone() -> None:
    story = Story()
    story.do(events.Hold)
    assert story.run.reminder is None
