"""What every store promises, on SQLite and on PostgreSQL."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.store import Conflict, Store, open_store, upgrade
from bot.adapters.store.codec import dump_run
from bot.adapters.store.schema import runs
from bot.core import events
from bot.core.cards import say
from bot.core.effects import Launch, Post, Withdraw
from bot.core.machine import step
from bot.core.orders import Order
from bot.core.stored import Posted
from bot.errors import ConfigError
from tests.unit.core.story import Story

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    made = open_store(url)
    yield made
    made.close()


@pytest.fixture
def story(store: Store) -> Story:
    made = Story()
    store.add_run(made.run, 1, made.effects, NOW)
    return made


def order(claim: str, text: str = "continue") -> Order:
    return Order(run="r1", claim=claim, ts="1.0", who="U1", at=NOW, text=text, intents=(), outcome="done")


def test_tables_that_are_up_to_date_are_left_alone(store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(upgrade, "upgrade")
    open_store(url).close()


def test_an_event_is_claimed_once_by_whoever_comes_first(store: Store, url: str) -> None:
    other = open_store(url)
    assert store.claim("T/C/1/message", NOW, {"a": 1})
    assert not store.claim("T/C/1/message", NOW, {"a": 1}) and not other.claim("T/C/1/message", NOW, {"a": 1})
    [(event_id, body)] = other.pending_events()
    assert body == {"a": 1} and store.event_outcome("T/C/1/message") is None
    store.handled(event_id, NOW, "done")
    assert store.pending_events() == [] and other.event_outcome("T/C/1/message") == "done"
    other.close()


def test_a_run_comes_back_as_it_was_saved(store: Store, story: Story) -> None:
    story.to_gate_after_train()
    store.save(story.run, 0, (), NOW)
    assert store.run("r1") == story.run
    assert [run.id for run in store.all_runs(live_only=True)] == ["r1"]
    with pytest.raises(KeyError):
        store.run("r2")


def test_of_two_saves_from_one_version_one_wins(store: Store, story: Story) -> None:
    after, effects = step(story.run, events.Hold(at=NOW, by="U1"), story.pipeline)
    store.save(after, 0, effects, NOW)
    with pytest.raises(Conflict):
        store.save(after, 0, effects, NOW)


def test_a_refused_save_leaves_nothing_behind(store: Store, story: Story) -> None:
    before = len(store.due_effects(NOW))
    with pytest.raises(Conflict):
        store.save(story.run, 99, (Post(key="x", card=say("x")),), NOW, order=order("a"))
    assert len(store.due_effects(NOW)) == before and store.orders() == []


def test_a_launch_is_withdrawn_or_begun_never_both(store: Store, story: Story) -> None:
    launch = Launch(key="a/launch", attempt="a", not_before=NOW + timedelta(seconds=10))
    store.add_effects("r1", (launch,), NOW)
    assert all(e.effect != launch for e in store.due_effects(NOW)), "not before the undo window is over"
    [due] = [e for e in store.due_effects(NOW + timedelta(seconds=10)) if e.effect == launch]
    store.begin_effect(due.id, NOW)
    with pytest.raises(Conflict):
        store.save(story.run, 0, (Withdraw(key="a/launch"),), NOW)
    other = Launch(key="b/launch", attempt="b", not_before=NOW)
    store.add_effects("r1", (other,), NOW)
    [due] = [e for e in store.due_effects(NOW) if e.effect == other]
    store.save(story.run, 0, (Withdraw(key="b/launch"),), NOW)
    with pytest.raises(Conflict):
        store.begin_effect(due.id, NOW)


def test_an_order_is_carried_out_once(store: Store, story: Story) -> None:
    store.save(story.run, 0, (), NOW, order=order("T/C/1/message#0"))
    with pytest.raises(store.duplicate):
        store.save(story.run, 0, (Post(key="y", card=say("y")),), NOW, order=order("T/C/1/message#0"))
    assert len(store.orders("r1")) == 1
    assert all(e.effect.key != "y" for e in store.due_effects(NOW))


def test_the_audit_log_shows_what_was_changed(store: Store, story: Story) -> None:
    for n in range(3):
        store.save(story.run, 0, (), NOW, order=order(f"c#{n}", f"text {n}"))
    assert _faults(store) == (3, "")
    with store._write() as connection:
        connection.exec_driver_sql("update orders set body = replace(body, 'text 1', 'text 9') where id = 2")
    assert _faults(store) == (3, "broken at order 2")
    with store._write() as connection:
        connection.exec_driver_sql("delete from orders where id = 2")
    assert _faults(store) == (2, "broken at order 3")


def _faults(store: Store) -> tuple[int, str]:
    chain = store.verify_orders()
    return chain.count, chain.fault


def test_one_lease_at_a_time(store: Store) -> None:
    assert store.take_lease("a", 30.0) == "a"
    assert store.take_lease("b", 30.0) == "a"
    assert store.take_lease("a", -1.0) == "a"
    assert store.take_lease("b", 30.0) == "b", "an expired lease is free"
    store.drop_lease("a")
    assert store.take_lease("a", 30.0) == "b", "another's lease is not dropped"
    store.drop_lease("b")
    assert store.take_lease("a", 30.0) == "a"


def test_posts_are_found_by_key_and_place(store: Store) -> None:
    posted = Posted(key="r1/status", run="r1", channel="C1", ts="5.5", thread_ts=None, at="now", digest="d")
    store.add_post(posted)
    store.redrawn("r1/status", "e")
    found = store.post("r1/status")
    assert found is not None and (found.digest, found.ts) == ("e", "5.5")
    assert store.run_at("C1", "5.5") == "r1" and store.run_at("C2", "5.5") is None


def test_cursors_are_kept(store: Store) -> None:
    assert store.cursor("heard") is None
    store.set_cursor("heard", "1.0")
    store.set_cursor("heard", "2.0")
    assert store.cursor("heard") == "2.0"


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, json.loads("1e400")])
def test_a_run_with_a_figure_that_is_none_comes_back(store: Store, story: Story, odd: float) -> None:
    """However it came in there: as null, it would not load again, and no other run either."""
    story.advance()
    attempt = replace(story.last(), metrics={"loss": odd, "step": 3.0}, idle_s=odd, result={"loss": odd})
    store.save(replace(story.run.with_attempt(attempt), version=story.run.version + 1), 0, (), NOW)
    loaded = store.run("r1").attempt(attempt.id)
    assert repr(loaded.metrics) == repr(attempt.metrics) and repr(loaded.idle_s) == repr(odd)
    assert [run.id for run in store.all_runs()] == ["r1"]


def test_a_run_that_does_not_load_leaves_the_others(
    store: Store, story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    other = replace(story.run, id="r2")
    store.add_run(other, 2, (), NOW)
    with store._write() as connection:
        connection.exec_driver_sql("update runs set body = '{}', version = version + 1 where id = 'r1'")
    for _ in range(2):
        assert [run.id for run in store.all_runs()] == ["r2"]
    assert [r.getMessage()[:23] for r in caplog.records] == ["run r1 is set aside, it"]
    with store._write() as connection:
        mended = dump_run(replace(story.run, version=story.run.version + 2))
        connection.execute(runs.update().values(body=mended, version=story.run.version + 2).where(runs.c.id == "r1"))
    assert [run.id for run in store.all_runs()] == ["r1", "r2"]


ODD = "half \ud83d, NUL \x00, ümlaut, 😀"
MENDED = "half \ufffd, NUL \ufffd, ümlaut, 😀"


def test_odd_texts_are_kept_but_for_what_no_database_takes(store: Store, story: Story) -> None:
    store.claim("T/C/1", NOW, {"text": ODD})
    [(event_id, body)] = store.pending_events()
    assert body == {"text": ODD}
    store.handled(event_id, NOW, ODD)
    assert store.event_outcome("T/C/1") == MENDED
    store.set_cursor(ODD, ODD)
    assert store.cursor(ODD) == MENDED
    [first, *_] = store.pending_effects()
    store.delay_effect(first.id, NOW, ODD)
    store.finish_effect(first.id, NOW, ODD)
    assert first.id not in [stored.id for stored in store.pending_effects()]


def test_whoever_has_a_long_name_is_not_taken_for_another(store: Store, story: Story) -> None:
    long = "x" * 5000
    for end in ("a", "b"):
        assert store.claim(long + end, NOW, {}) and not store.claim(long + end, NOW, {})
        store.set_cursor(long + end, end)
        given = replace(order(f"{end}#0"), who=long + end, claim=f"{long}{end}#0")
        store.note_order(0, "r1", given, (Post(key=long + end, card=say("x")),), NOW, "done")
        with pytest.raises(store.duplicate):
            store.note_order(0, "r1", given, (), NOW, "done")
    assert (store.cursor(long + "a"), store.cursor(long + "b"), store.cursor(long)) == ("a", "b", None)
    assert [entry["who"] for entry in store.orders()] == [long + "a", long + "b"]
    assert _faults(store) == (2, "")
    assert len([e for e in store.pending_effects() if e.effect.key.startswith(long)]) == 2


def test_an_effect_that_does_not_load_leaves_the_others(
    store: Store, story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    store.add_effects("r1", [Post(key=name, card=say(name)) for name in ("odd", "strange", "fine")], NOW)
    with store._write() as connection:
        connection.exec_driver_sql("update effects set body = '{}' where key = 'odd'")
        connection.exec_driver_sql("update effects set kind = 'Sing' where key = 'strange'")
    for _ in range(2):
        assert {"odd", "strange"}.isdisjoint(s.effect.key for s in store.pending_effects())
        assert "fine" in [s.effect.key for s in store.due_effects(NOW)]
    assert [r.getMessage().partition(" of ")[0] for r in caplog.records] == [
        "effect odd",
        "effect strange",
    ]


def test_a_file_that_is_no_database_or_a_broken_one_is_told_in_words(tmp_path: Path) -> None:
    other, broken = tmp_path / "other.db", tmp_path / "broken.db"
    other.write_text("no database at all " * 1000)
    open_store(f"sqlite:///{broken}").close()
    with broken.open("r+b") as file:
        file.seek(200)
        file.write(b"\xff" * 3896)  # the rest of the first page: which tables there are
    for path, told in ((other, "file is not a database"), (broken, "database disk image is malformed")):
        with pytest.raises(ConfigError, match=f"{told}: restore it from a copy, or name another file"):
            open_store(f"sqlite:///{path}")
