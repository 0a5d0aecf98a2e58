"""What only PostgreSQL does to a bot: it goes away and comes back, and others set it up."""

import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.adapters.store import Store, open_store
from bot.adapters.store import postgres as adapter
from bot.adapters.store.schema import cursors
from bot.cli import check as bot_check
from bot.core.orders import Order
from bot.errors import ConfigError, StoreUnavailable
from tests.contract.test_store_at_once import at_once, whole
from tests.hosting.postgres import Postgres

TOP = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.database()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    made = open_store(url)
    yield made
    made.close()


def order(claim: str) -> Order:
    return Order(run="r1", claim=claim, ts="1.0", who="U1", at=NOW, text="go", intents=(), outcome="done")


@pytest.mark.parametrize("crash", [False, True])
def test_a_restart_of_the_server_loses_and_doubles_nothing(store: Store, postgres: Postgres, crash: bool) -> None:
    at_once([store] * 4, lambda each, n: each.note_order(0, "r1", order(f"{n}#0"), (), NOW, "done"))
    postgres.stop(crash)
    try:
        with pytest.raises(StoreUnavailable, match=r"the database: connection .* failed"):
            store.claim("b", NOW, {})
    finally:
        postgres.start()
    assert at_once([store] * 4, lambda each, n: each.claim(str(n % 2), NOW, {})).count(True) == 2
    assert whole(store) == 4


def test_a_transaction_that_is_cut_leaves_nothing_behind(store: Store, postgres: Postgres) -> None:
    with pytest.raises(StoreUnavailable), store._write() as connection:
        connection.execute(cursors.insert().values(name="half", value="1"))
        postgres.stop(crash=True)
        postgres.start()
        connection.execute(cursors.insert().values(name="other half", value="1"))
    assert store.cursor("half") is None
    store.set_cursor("half", "2")
    assert store.cursor("half") == "2"


def test_a_bot_that_hangs_while_it_writes_is_put_out(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "HUNG_S", 1)
    hung = open_store(url)
    other = open_store(url)
    with pytest.raises(StoreUnavailable), hung._write() as connection:
        connection.execute(cursors.insert().values(name="heard", value="1"))
        other.set_cursor("heard", "2")
        connection.execute(cursors.update().values(value="3"))
    assert hung.cursor("heard") == "2", "it goes on with another connection"
    hung.close()
    other.close()


def test_who_waits_too_long_is_told(url: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "LOCK_WAIT_S", 1)
    other = open_store(url)
    with store._write(), pytest.raises(StoreUnavailable, match="lock timeout"):
        other.set_cursor("heard", "2")
    other.set_cursor("heard", "3")
    other.close()


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_the_chain_holds_whatever_isolation_is_the_servers_default(url: str, postgres: Postgres, level: str) -> None:
    name = url.split("@/")[1].partition("?")[0]
    postgres.do(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    stores = [open_store(url) for _ in range(4)]
    at_once(stores, lambda each, n: [each.note_order(0, "r1", order(f"{n}.{i}#0"), (), NOW, "") for i in range(4)])
    assert whole(stores[0]) == 16
    for each in stores:
        each.close()


def test_the_urls_own_options_stay(url: str, postgres: Postgres) -> None:
    postgres.do("CREATE SCHEMA bots", url)
    store = open_store(f"{url}&options=-csearch_path%3Dbots&connect_timeout=3")
    store.set_cursor("heard", "1")
    store.close()
    assert postgres.do("SELECT value FROM bots.cursors", url) == [("1",)]


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_an_address_without_a_driver_is_understood(url: str, scheme: str) -> None:
    store = open_store(url.replace("postgresql+psycopg", scheme))
    assert store.about().startswith("PostgreSQL 1") and "postgresql+psycopg://pointsman@/" in store.about()
    store.close()


def test_a_database_that_does_not_take_every_text_is_refused(postgres: Postgres) -> None:
    with pytest.raises(ConfigError, match="encoding is LATIN1, it has to be UTF8: CREATE DATABASE"):
        open_store(postgres.database("ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'"))


def test_a_user_who_may_not_make_tables_is_told_how_to_mend_it(url: str, postgres: Postgres) -> None:
    postgres.do("DROP ROLE IF EXISTS guest")
    postgres.do("CREATE ROLE guest LOGIN")
    name = url.split("@/")[1].partition("?")[0]
    with pytest.raises(ConfigError, match=r"permission denied for schema public: .* ALTER DATABASE"):
        open_store(postgres.url(name, "guest"))
    postgres.do(f"ALTER DATABASE {name} OWNER TO guest")
    open_store(postgres.url(name, "guest")).close()


def test_without_the_driver_its_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "psycopg" else find(name))
    with pytest.raises(ConfigError, match=r"pip install --no-deps -r ops/requirements/postgres\.txt") as raised:
        open_store("postgresql+psycopg://u:hunter2@db/x")
    assert sys.executable in str(raised.value) and "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "wrong",
    ["mysql://u:hunter2@db/x", "postgresql+psycopg2://u:hunter2@db/x", "hunter2", "postgresql://u:hunter2@h:y/"],
)
def test_an_address_of_another_kind_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"`database` .*: sqlite:///FILE or postgresql\+psycopg") as raised:
        open_store(wrong)
    assert "hunter2" not in str(raised.value)


def test_nobody_there_is_said_without_the_password(free_port: int) -> None:
    with pytest.raises(StoreUnavailable, match=r"the database: connection .* failed") as raised:
        open_store(f"postgresql+psycopg://u:hunter2@127.0.0.1:{free_port}/x")
    assert "hunter2" not in str(raised.value)


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """What `bot check` says of a database."""

    def run(url: str) -> str:
        body = {
            "version": 1,
            "database": url,
            "slack": {"channel": "C1"},
            "hosts": {"demo": {"kind": "local", "root": str(tmp_path / "host")}},
            "pipelines": [str(TOP / "ops/pipelines/demo.yaml")],
        }
        (tmp_path / "pointsman.yaml").write_text(json.dumps(body))
        bot_check.main(["--offline", "--config", str(tmp_path / "pointsman.yaml")])
        return capsys.readouterr().out

    return run


def test_check_tells_the_kind_of_database(check: Callable[[str], str], url: str, tmp_path: Path) -> None:
    assert re.search(r"ok   database: PostgreSQL 1[\d.]+, postgresql\+psycopg://pointsman@/\S+: 0 runs\n", check(url))
    assert re.search(
        rf"ok   database: SQLite 3[\d.]+, sqlite:///{tmp_path}/bot.db: 0 runs\n", check("sqlite:///bot.db")
    )


def test_check_says_why_a_database_gives_no_answer(check: Callable[[str], str], free_port: int) -> None:
    told = check(f"postgresql://u:hunter2@127.0.0.1:{free_port}/x")
    assert re.search(r"FAIL database: the database: connection .* failed: Connection refused.*\n +-> start it", told)
    assert "hunter2" not in told


def test_check_says_what_to_install(check: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "FAIL database: a PostgreSQL database needs the package psycopg" in check("postgresql://u@db/x")
