"""Silence is no consent: reminders come, grow rarer, go higher, survive a restart, and start nothing."""

from datetime import time, timedelta
from pathlib import Path

from bot.core.model import Phase
from bot.core.pipeline import GateSpec, QuietHours
from tests.scenario.chat import text
from tests.scenario.room import BEN, Room, pipeline

HOUR = timedelta(hours=1)


def reminders(room: Room) -> list[str]:
    return [text(said.card) for said in room.chat.said if "/remind/" in said.key]


def restart(room: Room) -> None:
    """The engine looks for what is due as soon as it is up."""
    room.down()
    room.up()


def test_a_gate_that_nobody_passes_is_reminded_of_and_never_passed(tmp_path: Path) -> None:
    room = Room(tmp_path, pipeline(synth=GateSpec(remind_s=3600, escalate_s=4 * 3600, escalate_to=(BEN,))))
    room.start()
    restart(room)
    assert reminders(room) == []
    room.clock.offset += 1.1 * HOUR
    restart(room)
    room.until(lambda: len(reminders(room)) == 1 or None, "it is said once")
    assert BEN not in reminders(room)[0] and "Nothing starts by itself" in reminders(room)[0]
    restart(room)
    room.tell("status")
    assert len(reminders(room)) == 1, "a restart says nothing twice"
    room.clock.offset += 6 * HOUR
    restart(room)
    room.until(lambda: len(reminders(room)) == 2 or None, "and again, later")
    assert BEN in reminders(room)[1], "those above are told by now"
    assert room.run().phase is Phase.WAITING and room.box.launches == []
    assert room.outcome(room.press("/remind/", "advance", BEN)).startswith("done: advance"), "its button works"
    room.down()


def test_nobody_is_reminded_in_quiet_hours(tmp_path: Path) -> None:
    always = QuietHours(start=time(0), end=time(23, 59, 59), tz="UTC")
    room = Room(tmp_path, pipeline(synth=GateSpec(remind_s=60, quiet=always)))
    room.start()
    due = room.run().reminder
    assert due is not None and (due.next_at.hour, due.next_at.minute) == (23, 59)
    room.clock.offset += due.next_at - room.clock.now() - timedelta(seconds=30)
    restart(room)
    room.tell("status")
    assert reminders(room) == []
    room.clock.offset += timedelta(seconds=31)
    restart(room)
    room.until(lambda: reminders(room) or None, "the night is over")
    room.down()
