"""PostgreSQL as it has to be set: one writer at a time, reads of one moment, and no wait without an end."""

import importlib.util
import sys
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

from bot.errors import ConfigError

WRITERS = 0x706F696E74736D61  # the lock that writers of this database take in turn: "pointsma"
LOCK_WAIT_S = 20
# A bot that hangs within a transaction (stopped, its network cut) is put out before those who wait give up.
HUNG_S = 10
_REQUIREMENTS = "ops/requirements/postgres.txt"
_CONNECT = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "client_encoding": "utf8",
    "application_name": "pointsman",
}


def create_engine(url: URL) -> Engine:
    """An engine; nothing is connected yet. Raises ConfigError where the driver is missing."""
    if importlib.util.find_spec("psycopg") is None:
        raise ConfigError(
            "a PostgreSQL database needs the package psycopg, which is not installed: "
            f"{sys.executable} -m pip install --no-deps -r {_REQUIREMENTS}"
        )
    engine = sa.create_engine(
        url,
        isolation_level="REPEATABLE READ",
        pool_pre_ping=True,
        connect_args={name: value for name, value in _CONNECT.items() if name not in url.query},
    )
    sa.event.listen(engine, "connect", _connected)
    sa.event.listen(engine, "begin", _begun)
    return engine


def _connected(connection: Any, _record: Any) -> None:
    connection.autocommit = True  # else a rollback would take the settings back
    connection.execute(f"SET lock_timeout = '{LOCK_WAIT_S}s'")
    connection.execute(f"SET idle_in_transaction_session_timeout = '{HUNG_S}s'")
    connection.autocommit = False


def _begun(connection: Connection) -> None:
    """A writer waits until it is alone, and sees what those before it wrote, as with SQLite.

    What is read before a write (the end of the audit chain, who holds the lease, which keys are known) then holds
    until it is written, and ids are in the order of the commits. One bot writes a few rows a second.
    """
    if connection.get_execution_options().get("writes", False):
        connection.exec_driver_sql(
            f"SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({WRITERS})"
        )


def refuse_unfit(connection: Connection) -> None:
    """Raises ConfigError for a database that does not take every text."""
    encoding = connection.scalar(sa.text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise ConfigError(
            f"the database's encoding is {encoding}, it has to be UTF8: "
            "CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
        )


def lacks_rights(error: sa.exc.DBAPIError) -> bool:
    """Whether the user of the URL may not make tables there."""
    return getattr(error.orig, "sqlstate", "") == "42501"
