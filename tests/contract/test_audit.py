"""The audit log shows what was changed, removed or put back, also at its end; and an old database gets its head."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import alembic.command
import alembic.config
import pytest
import sqlalchemy as sa
import yaml

from bot.adapters import store as store_package
from bot.adapters.store import Conflict, Store, open_store
from bot.adapters.store.audit import FIRST, digest
from bot.cli import audit as command
from bot.core.orders import Order
from bot.errors import BotError
from tests.unit.core.story import Story

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def order(number: int) -> Order:
    return Order(
        run="r1", claim=f"c#{number}", ts="1.0", who="U1", at=NOW, text=f"text {number}", intents=(), outcome="done"
    )


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """One run and three orders."""
    made = open_store(url)
    story = Story()
    made.add_run(story.run, 1, (), NOW)
    for number in range(3):
        give(made, number)
    yield made
    made.close()


def give(store: Store, number: int) -> None:
    store.save(store.run("r1"), 0, (), NOW, order=order(number))


def tamper(url: str, *statements: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("delete from orders where id = 3", "the last one is missing"),
        ("delete from orders where id > 1", "the last 2 are missing"),
        ("delete from orders", "the last 3 are missing"),
        ("update orders set body = replace(body, 'text 2', 'text 9') where id = 3", "broken at order 3"),
        ("delete from audit_head", "they do not end as the head says (0 orders"),
        ("update audit_head set count = 4", "the last one is missing"),
        ("update audit_head set count = 2", "they do not end as the head says (2 orders"),
    ],
)
def test_what_is_missing_at_the_end_shows(store: Store, url: str, statement: str, fault: str) -> None:
    assert not store.verify_orders().fault
    tamper(url, statement)
    assert store.verify_orders().fault.startswith(fault)


def test_a_last_entry_that_was_replaced_by_one_that_fits_shows(store: Store, url: str) -> None:
    before, body = store.orders()[1]["hash"], '{"text": "never said"}'
    tamper(url, f"update orders set body = '{body}', hash = '{digest(before, body)}' where id = 3")
    assert store.verify_orders().fault.startswith("they do not end as the head says (3 orders")


def test_orders_that_follow_removed_ones_do_not_hide_it(store: Store, url: str) -> None:
    tamper(url, "delete from orders where id > 1")
    give(store, 7)
    give(store, 8)
    assert store.verify_orders().fault.startswith("broken at order ")


def test_a_head_without_its_row_is_never_the_end_of_the_story(store: Store, url: str) -> None:
    tamper(url, "delete from audit_head")
    give(store, 7)
    assert store.verify_orders().fault == "broken at order 4"


def test_the_head_moves_with_the_order_or_not_at_all(store: Store) -> None:
    before = store.audit_head()
    with pytest.raises(Conflict):
        store.save(replace(store.run("r1"), version=9), 8, (), NOW, order=order(9))
    assert store.audit_head() == before == (3, store.orders()[-1]["hash"])
    give(store, 9)
    assert store.audit_head() == (4, store.orders()[-1]["hash"])


def test_a_head_noted_elsewhere_shows_what_the_database_cannot(store: Store, url: str) -> None:
    noted = store.audit_head()[1]
    assert store.orders_at(noted) == 3 and store.orders_at(noted[:12].upper()) == 3
    give(store, 9)
    assert store.orders_at(noted) == 3
    last = store.orders()[1]["hash"]
    tamper(url, "delete from orders where id > 2", f"update audit_head set count = 2, hash = '{last}'")
    assert not store.verify_orders().fault, "whoever writes the database writes the head too"
    assert store.orders_at(noted) is None


def test_the_command_prints_the_head_and_finds_one_noted_earlier(
    store: Store, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "pointsman.yaml"
    body = {
        "version": 1,
        "database": url,
        "slack": {"channel": "C1"},
        "hosts": {"box1": {"kind": "local"}},
        "pipelines": ["x"],
    }
    config.write_text(yaml.safe_dump(body))

    def verify(*more: str) -> tuple[int, str]:
        code = command.main(["--config", str(config), "verify", *more])
        return code, capsys.readouterr().out

    noted = store.audit_head()[1]
    assert verify() == (0, f"3 orders, the chain is whole\nhead {noted}\n")
    give(store, 9)
    code, told = verify("--head", noted[:12])
    assert code == 0 and f"{noted[:12]} was the head of 3 orders; 1 came after it" in told
    assert verify("--head", "ab" * 32)[0] == 1
    tamper(url, "delete from orders where id = 4")
    code, told = verify()
    assert code == 1 and "3 orders, the last one is missing" in told
    with pytest.raises(SystemExit):
        verify("--head", "abc")


def test_a_database_of_the_first_schema_gets_its_head(url: str) -> None:
    """As it was before heads were kept: tables of revision 0001, orders written without a head."""
    hashes = _old_database(url, [f'{{"text": "order {number}"}}' for number in range(5)])
    store = open_store(url)
    try:
        assert store.audit_head() == (5, hashes[-1])
        chain = store.verify_orders()
        assert (chain.count, chain.fault) == (5, "")
        store.add_run(Story().run, 1, (), NOW, order=order(5))
        assert store.verify_orders().count == 6 and not store.verify_orders().fault
    finally:
        store.close()


def test_tables_that_an_older_bot_is_at_work_on_are_left_as_they_are(url: str) -> None:
    """It goes on writing orders as it always did: they would stand outside a chain that has a head."""
    _old_database(url, ["{}"])
    tamper(url, f"insert into leases values ('bot', 'vm pid 1 [a/1]', {time.time() + 30})")
    with pytest.raises(BotError, match=r"older version, and a bot is at work on it: vm pid 1 \[a/1\]; stop that one"):
        open_store(url)
    _old_orders(url, FIRST, ["{}", "{}"], first=1)
    store = open_store(url, is_gone=lambda holder: holder == "vm pid 1 [a/1]")
    assert (store.verify_orders().count, store.verify_orders().fault) == (2, "")
    store.close()


def test_tables_of_a_newer_version_are_named(url: str) -> None:
    open_store(url).close()
    tamper(url, "update alembic_version set version_num = '9999'")
    with pytest.raises(BotError, match="newer version of the bot: its tables are 9999"):
        open_store(url)


def test_an_empty_database_of_the_first_schema_gets_its_head(url: str) -> None:
    _old_database(url, [])
    store = open_store(url)
    assert store.audit_head() == (0, FIRST) and not store.verify_orders().fault
    store.close()


def _old_database(url: str, bodies: list[str]) -> list[str]:
    """The hashes of its orders."""
    config = alembic.config.Config()
    config.set_main_option("script_location", str(Path(store_package.__file__).parent / "migrations"))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "0001")
        assert "audit_head" not in sa.inspect(connection).get_table_names()
    engine.dispose()
    return _old_orders(url, FIRST, bodies)


def _old_orders(url: str, last: str, bodies: list[str], first: int = 0) -> list[str]:
    """Those from `first` on are written; the hashes of all."""
    engine, hashes = sa.create_engine(url), [last]
    with engine.begin() as connection:
        for number, body in enumerate(bodies):
            row = {"claim": f"old#{number}", "at": NOW.isoformat(), "who": "U1", "body": body}
            row |= {"before": hashes[-1], "hash": digest(hashes[-1], body)}
            hashes.append(row["hash"])
            names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
            if number < first:
                continue
            connection.execute(sa.text(f"insert into orders ({names}) values ({values})"), row)
    engine.dispose()
    return hashes[1:]
