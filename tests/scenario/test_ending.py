"""The bot is told to end while something hangs: it ends in time, without failure, and nothing is lost."""

import os
import signal
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from bot.workspace import RUNS
from tests.scenario.conftest import MakeWorld
from tests.scenario.test_kill import assert_nothing_happened_twice, drive
from tests.scenario.world import World, pipeline

pytestmark = pytest.mark.slow
ELSEWHERE = "gpu-head pid 1 [00000000-4026531836/77]"


class Hang(Protocol):
    def __call__(self, world: World) -> AbstractContextManager[object]: ...


@contextmanager
def chat_hangs(world: World) -> Iterator[None]:
    world.control.fault("slow", "chat.update", times=-1, delay_s=60.0)
    updates = world.control.counters()["calls"]["chat.update"]
    world.until(lambda: world.control.counters()["calls"]["chat.update"] > updates or None, "a card is drawn again")
    yield
    world.control.send("faults/clear")


@contextmanager
def host_hangs(world: World) -> Iterator[None]:
    assert world.process is not None
    tasks = Path(f"/proc/{world.process.pid}/task").iterdir()
    agents = [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
    assert agents
    for pid in agents:
        os.killpg(pid, signal.SIGSTOP)
    yield
    for pid in agents:
        try:
            os.killpg(pid, signal.SIGCONT)
        except ProcessLookupError:
            continue


@contextmanager
def store_hangs(world: World) -> Iterator[None]:
    with closing(sqlite3.connect(world.folder / "bot.db", timeout=60.0, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize("hang", [chat_hangs, host_hangs, store_hangs])
def test_it_ends_in_time_whatever_hangs(make_world: MakeWorld, hang: Hang) -> None:
    world = make_world(pipeline(extract={"seconds": 5}))
    world.up()
    world.say("<@U0BOT> start quick")
    world.say("go", world.head())
    world.until(lambda: world.starts().get("extract"), "extraction runs")
    with hang(world):
        world.say("status", world.head())
        world.down()
    told = world.log.read_text()
    assert "down" in told.splitlines()[-1]
    assert "left behind" in told or "while calls were under way" in told or hang is host_hangs
    world.up()
    with world.store() as store:
        drive(world, store, lambda _: None)
    assert_nothing_happened_twice(world)


def test_it_ends_at_once_when_it_is_told_twice(make_world: MakeWorld) -> None:
    world = make_world()
    world.up()
    with store_hangs(world):
        assert world.process is not None
        world.process.send_signal(signal.SIGTERM)
        world.until(lambda: "ending" in world.log.read_text() or None, "it has heard")
        world.process.send_signal(signal.SIGTERM)
        assert world.process.wait(60) == 128 + signal.SIGTERM
    assert "asked again" in world.log.read_text()
    world.up()


def test_it_ends_without_failure_where_it_never_began(make_world: MakeWorld) -> None:
    """It waits for the chat, and another bot is at work on the database."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        away = {"base_url": f"http://127.0.0.1:{nobody.getsockname()[1]}/api/", "channel": RUNS}
        world = make_world(slack=away)
        with world.store() as store:
            assert store.take_lease(ELSEWHERE, 600.0) == ELSEWHERE
        world.start()
        world.until(lambda: "again in" in world.log.read_text() or None, "it waits for the chat")
        world.down()
    assert "another bot" not in world.log.read_text()
