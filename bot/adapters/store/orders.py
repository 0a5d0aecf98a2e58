"""Orders: the audit log as it is added to, shown and verified."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.adapters.store import audit, writing
from bot.adapters.store.rows import Rows
from bot.adapters.store.schema import orders
from bot.core.effects import Effect
from bot.core.orders import Order


class OrderRows(Rows):
    """Orders, oldest first."""

    def note_order(
        self, event_id: int, run_id: str, order: Order | None, wanted: Sequence[Effect], at: datetime, outcome: str
    ) -> None:
        """An event is handled: its answers, but for keys known already, and the audit entry if none was written."""
        with self._write() as connection:
            writing.settle(connection, run_id, writing.unknown(connection, wanted), at, order)
            writing.handled(connection, event_id, at, outcome)

    def carried(self, claim: str) -> list[str]:
        """The outcomes of the orders that this event led to, in their order."""
        query = sa.select(orders.c.body).where(orders.c.claim.startswith(claim + "#", autoescape=True))
        with self._read() as connection:
            found = [json.loads(row.body) for row in connection.execute(query.order_by(orders.c.id))]
        return [str(order["outcome"]) for order in found]

    def orders(self, run_id: str | None = None) -> list[dict[str, Any]]:
        """The audit log, oldest first, with its hashes."""
        query = sa.select(orders).order_by(orders.c.id)
        if run_id is not None:
            query = query.where(orders.c.run == run_id)
        with self._read() as connection:
            return [audit.entry(dict(row)) for row in connection.execute(query).mappings()]

    def audit_head(self) -> tuple[int, str]:
        """How many orders there are, and the hash that stands for all of them."""
        with self._read() as connection:
            return audit.head(connection)

    def verify_orders(self) -> audit.Chain:
        """Every order, against the chain and its head."""
        with self._read() as connection:
            rows = connection.execute(sa.select(orders).order_by(orders.c.id)).mappings()
            return audit.check([dict(row) for row in rows], audit.head(connection))

    def orders_at(self, head: str) -> int | None:
        """How many orders there were when this head was noted; None when it is not in the chain."""
        with self._read() as connection:
            hashes = connection.execute(sa.select(orders.c.hash).order_by(orders.c.id)).mappings()
            return audit.place([dict(row) for row in hashes], head)
