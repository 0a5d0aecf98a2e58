"""Opens a database: SQLite or PostgreSQL as it has to be set, and the tables brought up to date."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

from bot.adapters.store import postgres
from bot.adapters.store.store import Store
from bot.adapters.store.trouble import translated
from bot.adapters.store.version import find_version, newest_version
from bot.errors import ConfigError
from bot.writeahead import write_ahead

LOCK_WAIT_S = 20.0
_FORMS = "sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME"
_POSTGRES = ("postgresql+psycopg", "postgresql", "postgres")


def open_store(url: str, is_gone: Callable[[str], bool] = lambda holder: False) -> Store:
    """Open the database and bring its tables up to date. `is_gone`: whether a lease's holder is known to have ended.

    Raises ConfigError, StoreUnavailable, and BotError as `upgrade`.
    """
    parsed = _parse(url)
    sqlite = parsed.get_backend_name() == "sqlite"
    engine = _create_sqlite(parsed) if sqlite else postgres.create_engine(parsed)
    try:
        with translated(), engine.execution_options(writes=True).begin() as connection:
            if not sqlite:
                postgres.refuse_unfit(connection)
            found = find_version(connection)
            if found != newest_version():
                from bot.adapters.store.upgrade import upgrade  # Alembic takes its time to import

                upgrade(connection, found, is_gone)
    except BaseException as error:
        engine.dispose()
        if isinstance(error, sa.exc.DBAPIError) and postgres.lacks_rights(error):
            told = str(error.orig).splitlines()[0]
            remedy = "the database has to belong to the bot's user: ALTER DATABASE ... OWNER TO ..."
            raise ConfigError(f"{told}: {remedy}") from error
        if isinstance(error, sa.exc.DBAPIError) and _is_damaged(error):
            raise ConfigError(f"`database`: {error.orig}: restore it from a copy, or name another file") from error
        raise
    return Store(engine)


def _is_damaged(error: sa.exc.DBAPIError) -> bool:
    """Whether SQLite finds that the file is none of its own, or broken."""
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _parse(url: str) -> URL:
    """Nothing of the URL is said: it may hold a password. Raises ConfigError."""
    try:
        parsed = sa.engine.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise ConfigError(f"`database` is no address of a database: {_FORMS}") from None
    if parsed.drivername in _POSTGRES:
        return parsed.set(drivername=_POSTGRES[0])
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise ConfigError(f"`database` cannot be {parsed.drivername}: {_FORMS}")
    return parsed


def _create_sqlite(url: URL) -> Engine:
    """Write-ahead log, and transactions that take the write lock when they begin (no upgrade deadlocks)."""
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, connect_args={"timeout": LOCK_WAIT_S})

    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        write_ahead(connection, LOCK_WAIT_S)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    sa.event.listen(engine, "connect", connected)
    sa.event.listen(engine, "begin", begun)
    return engine
