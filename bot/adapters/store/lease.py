"""Which bot is active, and how far it has read."""

import time

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.store.rows import Rows
from bot.adapters.store.schema import cursors, leases

LEASE = "bot"


class LeaseRows(Rows):
    """The lease and the cursors of its holder."""

    def take_lease(self, holder: str, ttl_s: float) -> str:
        """Take or renew the lease that makes one bot active; returns who holds it now.

        The time is the database's: of two machines, the one whose clock is ahead must not find it expired.
        """
        with self._write() as connection:
            now_s = database_s(connection)
            row = connection.execute(sa.select(leases).where(leases.c.name == LEASE)).first()
            if row is not None and row.holder != holder and row.until > now_s:
                return str(row.holder)
            connection.execute(leases.delete().where(leases.c.name == LEASE))
            connection.execute(leases.insert().values(name=LEASE, holder=holder, until=now_s + ttl_s))
        return holder

    def drop_lease(self, holder: str) -> None:
        with self._write() as connection:
            connection.execute(leases.delete().where(leases.c.name == LEASE, leases.c.holder == holder))

    def cursor(self, name: str) -> str | None:
        with self._read() as connection:
            return connection.execute(sa.select(cursors.c.value).where(cursors.c.name == name)).scalar()

    def set_cursor(self, name: str, value: str) -> None:
        with self._write() as connection:
            connection.execute(cursors.delete().where(cursors.c.name == name))
            connection.execute(cursors.insert().values(name=name, value=value))


def database_s(connection: Connection) -> float:
    """Seconds since the epoch, by the clock of the machine that the database is on."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.execute(sa.select(sa.extract("epoch", sa.func.clock_timestamp()))).scalar_one())
