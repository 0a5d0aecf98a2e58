"""The most telling scenarios on PostgreSQL, and what only a database that others share brings."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.service.engine import LEASE_S
from tests.hosting.postgres import Postgres
from tests.hosting.processes import owned
from tests.scenario import test_faults, test_once
from tests.scenario.conftest import MakeWorld
from tests.scenario.room import Room
from tests.scenario.test_kill import WORDS, assert_nothing_happened_twice, drive
from tests.scenario.world import CHECKOUT, pipeline

pytestmark = pytest.mark.slow

# A bot whose name says that it runs on another machine, where nobody can look whether it lives.
ELSEWHERE = """
import sys
from bot.cli import up
up.this_process = lambda: "gpu-head pid 7 [00000000-1/77]"
sys.exit(up.main(sys.argv[1:]))
"""

test_one_post = test_once.test_one_post_delivered_four_times_is_one_order
test_four_clicks = test_once.test_four_clicks_in_a_second_start_once_and_are_answered_to_the_clicker_alone
test_two_operators = test_once.test_two_operators_at_once_start_once
test_the_terminal = test_once.test_the_terminal_passes_a_gate_that_the_chat_shows
test_continue_then_wait = test_once.test_continue_then_wait_starts_nothing
test_an_order_before_a_crash = test_faults.test_an_order_carried_out_before_a_crash_is_not_read_again
test_open_gates_after_a_restart = test_faults.test_open_gates_are_drawn_again_after_a_restart
test_a_second_bot = test_faults.test_a_second_bot_is_refused_and_told_who_holds_the_lease


@pytest.fixture
def room(tmp_path: Path, postgres: Postgres) -> Iterator[Room]:
    made = Room(tmp_path, url=postgres.database())
    made.start()
    yield made
    made.down()


def test_the_engine_is_ended_and_started_within_the_undo_window(tmp_path: Path, postgres: Postgres) -> None:
    room = Room(tmp_path, url=postgres.database(), undo_s=0.8)
    room.start()
    room.tell("go")
    for _ in range(2):
        room.down()
        room.up()
        room.until(lambda: room.box.works() or None, "launched")
    room.until(lambda: room.store.pending_effects() == [] or None, "nothing is left to do")
    assert room.box.works() == ["r1-synth-1"]
    room.down()


def test_the_bot_is_killed_in_three_stages(make_world: MakeWorld, postgres: Postgres) -> None:
    world = make_world(pipeline(1.0), database=postgres.database())
    world.up()
    world.say("<@U0BOT> start quick")
    moments = (("extract", "running", "running"), ("vocab", "starting", ""), ("train", "verifying", ""))
    with world.store() as store:
        died = drive(world, store, lambda now: 0.1 if now in moments else None)
    assert len(died) == 3
    assert_nothing_happened_twice(world)


def test_the_server_crashes_before_every_order_and_the_bot_lives_on(make_world: MakeWorld, postgres: Postgres) -> None:
    """Each is said while the database is away."""
    world = make_world(pipeline(0.5), database=postgres.database())
    world.up()
    world.say("<@U0BOT> start quick")
    thread = world.head()
    assert world.process is not None
    for after, word in WORDS.items():
        world.until_gate(after)
        postgres.stop(crash=True)
        world.say(word, thread)
        time.sleep(2.0)
        postgres.start()
    world.until_phase("done", timeout_s=120.0)
    assert world.process.poll() is None
    assert_nothing_happened_twice(world)
    assert "internal error" not in world.told()


def test_two_bots_one_acts_and_the_other_takes_over_when_it_is_dead(make_world: MakeWorld, postgres: Postgres) -> None:
    world = make_world(pipeline(1.0), database=(url := postgres.database()))
    argv = [sys.executable, "-m", "bot", "up", "--config", str(world.config)]

    def second() -> str:
        done = subprocess.run(
            argv, cwd=CHECKOUT, env=world.environment(), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 1
        return done.stderr

    with world.log.open("ab") as log:
        elsewhere = [sys.executable, "-c", ELSEWHERE, *argv[4:]]
        first = subprocess.Popen(elsewhere, cwd=CHECKOUT, env=world.environment(), stdout=log, stderr=log)
    with owned(first):
        world.until(lambda: world.control.look("counters")["connections"] or None, "the bot connects")
        [(holder,)] = postgres.do("SELECT holder FROM leases", url)
        assert holder == "gpu-head pid 7 [00000000-1/77]"
        world.say("<@U0BOT> start quick")
        world.say("go", world.head())
        world.until(lambda: world.starts().get("extract"), "extraction runs", 60.0)
        assert f"another bot is at work on this database: {holder}" in second()
        first.send_signal(signal.SIGKILL)
        first.wait(20)
    postgres.do("UPDATE leases SET until = until + 3600", url)  # however slow this machine is
    assert holder in second(), "it may live, for all that can be told from here"
    postgres.do(f"UPDATE leases SET until = until - 3600 - {LEASE_S}", url)  # so long later
    world.up()
    [(now,)] = postgres.do("SELECT holder FROM leases", url)
    assert now != holder
    for after in ("extract", "train"):
        world.until_gate(after)
        world.say(WORDS[after], world.head())
    world.until_phase("done", timeout_s=120.0)
    assert_nothing_happened_twice(world)
