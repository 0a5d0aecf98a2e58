"""Many writers at once, each with a connection of its own: nothing forks, doubles or is lost."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TypeVar

import pytest
import sqlalchemy as sa

from bot.adapters.store import Conflict, Store, open_store
from bot.core.cards import say
from bot.core.effects import Launch, Post, Withdraw
from bot.core.orders import Order
from bot.core.stored import Posted
from tests.hosting.processes import owned
from tests.unit.core.story import Story

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CHECKOUT = Path(__file__).resolve().parents[2]
WRITERS, EACH = 4, 8
T = TypeVar("T")


@pytest.fixture
def stores(url: str) -> Iterator[list[Store]]:
    """As many bots on one database."""
    with ExitStack() as stack:
        made = [open_store(url) for _ in range(WRITERS)]
        for store in made:
            stack.callback(store.close)
        yield made


@pytest.fixture
def story(stores: list[Store]) -> Story:
    made = Story()
    stores[0].add_run(made.run, 1, made.effects, NOW)
    return made


def at_once(stores: list[Store], work: Callable[[Store, int], T]) -> list[T]:
    """What each got; all begin at the same moment."""
    together = threading.Barrier(len(stores))

    def begin(n: int) -> T:
        together.wait()
        return work(stores[n], n)

    with ThreadPoolExecutor(len(stores)) as pool:
        return list(pool.map(begin, range(len(stores))))


def order(claim: str) -> Order:
    return Order(run="r1", claim=claim, ts="1.0", who="U1", at=NOW, text="continue", intents=(), outcome="done")


def whole(store: Store) -> int:
    """How many orders there are, once nothing is wrong with them."""
    chain_ = store.verify_orders()
    assert not chain_.fault
    return chain_.count


def test_the_audit_chain_does_not_fork(stores: list[Store]) -> None:
    def write(store: Store, n: int) -> None:
        for i in range(EACH):
            store.note_order(0, "r1", order(f"c{n}.{i}#0"), (), NOW, "done")

    at_once(stores, write)
    assert whole(stores[0]) == WRITERS * EACH


def test_a_chain_that_grows_while_it_is_verified_is_whole(stores: list[Store]) -> None:
    """Its entries and its head are read as of one moment."""
    reader, writer = stores[:2]

    def between(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "FROM orders" in statement:
            writer.note_order(0, "r1", order("later#0"), (), NOW, "done")

    writer.note_order(0, "r1", order("c#0"), (), NOW, "done")
    sa.event.listen(reader._engine, "after_cursor_execute", between)
    assert whole(reader) == 1
    assert whole(writer) == 2


def test_an_order_that_all_bring_is_carried_out_once(stores: list[Store], story: Story) -> None:
    def write(store: Store, _: int) -> int:
        done = 0
        for i in range(EACH):
            try:
                store.note_order(0, "r1", order(f"c{i}#0"), (Post(key=f"p{i}", card=say("x")),), NOW, "done")
                done += 1
            except store.duplicate:
                pass
        return done

    assert sum(at_once(stores, write)) == EACH
    assert whole(stores[0]) == EACH


def test_every_event_is_claimed_by_one(stores: list[Store]) -> None:
    claims = at_once(stores, lambda store, _: [store.claim(f"T/C/{i}/message", NOW, {"i": i}) for i in range(EACH)])
    assert [sum(each) for each in zip(*claims, strict=True)] == [1] * EACH
    assert [body["i"] for _, body in stores[0].pending_events()] == list(range(EACH))


def test_an_event_that_is_seen_is_never_followed_by_an_older_one(stores: list[Store]) -> None:
    """Ids are in the order of the commits: what was said first is handled first."""
    seen: list[int] = []

    def write(store: Store, n: int) -> None:
        for i in range(EACH):
            if n == 0:
                now = [event_id for event_id, _ in store.pending_events()]
                assert now[: len(seen)] == seen
                seen[:] = now
            else:
                store.claim(f"T/C/{n}.{i}/message", NOW, {})

    at_once(stores, write)


def test_run_numbers_are_given_once_and_without_gaps(stores: list[Store], story: Story) -> None:
    def plan(store: Store, _: int) -> list[int]:
        got: list[int] = []
        while len(got) < 3:
            number = store.next_run_number()
            try:
                store.add_run(replace(story.run, id=f"r{number}"), number, (), NOW)
                got.append(number)
            except Conflict:
                continue
        return got

    assert sorted(chain(*at_once(stores, plan))) == list(range(2, 2 + 3 * WRITERS))


def test_no_save_is_lost(stores: list[Store], story: Story) -> None:
    def save(store: Store, n: int) -> None:
        left = EACH
        while left:
            run = store.run("r1")
            try:
                wanted = (Post(key=f"p{n}.{left}", card=say("x")),)
                claim = order(f"c{n}.{left}#0")
                store.save(replace(run, version=run.version + 1), run.version, wanted, NOW, order=claim)
                left -= 1
            except Conflict:
                continue

    at_once(stores, save)
    assert stores[0].run("r1").version == story.run.version + WRITERS * EACH
    assert whole(stores[0]) == WRITERS * EACH
    assert len({e.effect.key for e in stores[0].pending_effects()}) == len(story.effects) + WRITERS * EACH


def test_an_effect_is_begun_by_one_or_withdrawn(stores: list[Store], story: Story) -> None:
    launches = [Launch(key=f"{i}/launch", attempt=str(i), not_before=NOW) for i in range(EACH)]
    stores[0].add_effects("r1", launches, NOW)
    ids = {e.effect.key: e.id for e in stores[0].pending_effects()}

    def reach(store: Store, n: int) -> list[str]:
        got = []
        for launch in launches:
            try:
                if n % 2:
                    store.begin_effect(ids[launch.key], NOW)
                else:
                    run = store.run("r1")
                    store.save(replace(run, version=run.version + 1), run.version, (Withdraw(key=launch.key),), NOW)
                got.append(launch.key)
            except Conflict:
                continue
        return got

    assert sorted(chain(*at_once(stores, reach))) == [launch.key for launch in launches], "by none, by both, or twice"


def test_what_all_say_at_once_is_said_once(stores: list[Store], story: Story) -> None:
    posts = [Post(key=f"p{i}", card=say("x")) for i in range(EACH)]
    at_once(stores, lambda store, _: [store.add_effects("r1", (post,), NOW) for post in posts])
    assert [e.effect for e in stores[0].pending_effects()][len(story.effects) :] == posts


def test_one_holds_the_lease_and_all_are_told_who(stores: list[Store]) -> None:
    for _ in range(EACH):
        [holder] = set(at_once(stores, lambda store, n: store.take_lease(f"bot{n}", 30.0)))
        stores[0].drop_lease(holder)


def test_what_is_kept_by_key_is_written_over_whole(stores: list[Store]) -> None:
    def write(store: Store, n: int) -> None:
        for i in range(EACH):
            store.set_cursor("heard", f"{n}.{i}")
            store.add_post(Posted(key="k", run="r1", channel="C", ts=f"{n}", thread_ts=None, at="now", digest=""))

    at_once(stores, write)
    assert stores[0].cursor("heard") in {f"{n}.{EACH - 1}" for n in range(WRITERS)}


def test_what_is_read_in_one_go_is_of_one_moment(stores: list[Store], story: Story) -> None:
    """A run that cannot be read any more by the time its text is fetched is still the one that was listed."""
    reader, writer = stores[:2]

    def between(connection: sa.engine.Connection, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("SELECT runs.id, runs.version"):
            with writer._write() as other:
                other.exec_driver_sql("update runs set body = '{}', version = version + 1")

    sa.event.listen(reader._engine, "after_cursor_execute", between)
    assert reader.all_runs() == [story.run]


@pytest.mark.slow
def test_two_that_start_at_once_make_the_tables_once(url: str) -> None:
    code = "import sys; from bot.adapters.store import open_store; print(flush=True); input(); open_store(sys.argv[1])"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = [
        subprocess.Popen([sys.executable, "-c", code, url], cwd=CHECKOUT, text=True, **pipes)  # type: ignore[call-overload]
        for _ in range(2)
    ]
    with owned(*started):
        for each in started:
            each.stdout.readline()
        for each in started:
            each.stdin.write("\n")
            each.stdin.flush()
        told = [each.communicate(timeout=120)[1] for each in started]
    assert [each.returncode for each in started] == [0, 0], told
    store = open_store(url)
    assert store.pending_events() == []
    store.close()
