"""Opens a database: SQLite as it has to be set, and the tables brought up to date."""

from pathlib import Path
from typing import Any

import alembic.command
import alembic.config
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from bot.adapters.store.store import Store


def open_store(url: str) -> Store:
    """Open the database and bring its tables up to date."""
    parsed = sa.engine.make_url(url)
    sqlite = parsed.get_backend_name() == "sqlite"
    if sqlite and parsed.database and parsed.database != ":memory:":
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, connect_args={"timeout": 20} if sqlite else {})
    if sqlite:
        _prepare_sqlite(engine)
    config = alembic.config.Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.execution_options(writes=True).begin() as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "head")
    return Store(engine)


def _prepare_sqlite(engine: Engine) -> None:
    """Write-ahead log, and transactions that take the write lock when they begin (no upgrade deadlocks)."""

    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=20000"):
            connection.execute(f"PRAGMA {pragma}")

    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    sa.event.listen(engine, "connect", connected)
    sa.event.listen(engine, "begin", begun)
