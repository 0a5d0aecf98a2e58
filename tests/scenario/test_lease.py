"""Who may run on a database, after a bot was killed on it."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.store import open_store
from bot.service.engine import LEASE_S, LeaseLost
from bot.service.holder import this_process
from tests.scenario.room import BOT, Room

SAY_WHO = "from bot.service.holder import this_process; print(this_process(), flush=True); input()"


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.down()


def hold(room: Room, holder: str) -> None:
    """Hold the lease as a bot that took it just now."""
    room.engine.stop()
    assert room.store.take_lease(holder, LEASE_S) == holder


def test_the_lease_of_a_killed_bot_is_taken_over_at_once(room: Room) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SAY_WHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        holder = process.stdout.readline().strip()
        process.kill()
    hold(room, holder)
    room.up()
    assert room.start() == "r1"


@pytest.mark.parametrize("holder", [this_process(), "gpu-head pid 1 [00000000-4026531836/77]"])
def test_a_bot_that_may_live_keeps_its_lease(room: Room, holder: str) -> None:
    hold(room, holder)
    with pytest.raises(LeaseLost, match="pid"):
        room.up()
    room.store.drop_lease(holder)


def test_a_bot_that_still_talks_when_it_is_stopped_keeps_its_lease(room: Room) -> None:
    room.chat.hang = threading.Event()
    room.tell(f"<@{BOT}> start eagle", run=None)
    room.until(lambda: any(s.begun for s in room.store.pending_effects()) or None, "it is being said")
    room.down()
    store = open_store(room.url)
    assert store.take_lease("another", LEASE_S) == "test"
    room.chat.hang.set()
    store.close()
