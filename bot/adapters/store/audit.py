"""The audit log: every order, chained by hashes so that a changed or missing entry shows."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.store.schema import orders
from bot.core.orders import Order

FIRST = "0" * 64


class Duplicate(Exception):
    """This order was carried out before: a repeat after a restart changes nothing."""


def digest(before: str, body: str) -> str:
    """The hash of an entry: over the entry before it and its own text."""
    return hashlib.sha256(f"{before}\n{body}".encode()).hexdigest()


def append(connection: Connection, order: Order) -> None:
    """Add an entry. Runs inside the order's transaction, which holds the write lock. Raises Duplicate."""
    if connection.execute(sa.select(orders.c.id).where(orders.c.claim == order.claim)).first() is not None:
        raise Duplicate(order.claim)
    last = connection.execute(sa.select(orders.c.hash).order_by(orders.c.id.desc()).limit(1)).scalar() or FIRST
    body = json.dumps(order.to_json(), sort_keys=True, ensure_ascii=False)
    connection.execute(
        orders.insert().values(
            run=order.run,
            claim=order.claim,
            at=order.at.isoformat(),
            who=order.who,
            body=body,
            before=last,
            hash=digest(last, body),
        )
    )


def entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """One entry as it is shown."""
    return {"id": row["id"], "before": row["before"], "hash": row["hash"], **json.loads(row["body"])}


def broken(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """The id of the first entry that does not fit the chain, None when all do."""
    last = FIRST
    for row in rows:
        if row["before"] != last or row["hash"] != digest(row["before"], row["body"]):
            return int(row["id"])
        last = row["hash"]
    return None
