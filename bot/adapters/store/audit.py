"""The audit log: every order, chained by hashes so that a changed or missing entry shows.

The chain's head, count and hash, stands in a row of its own that the same transaction writes: entries removed at the
end show by it. Who can write the database can write the head as well; a head noted elsewhere shows that too.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bot.adapters.store.schema import audit_head, orders
from bot.core.orders import Order

FIRST = "0" * 64


class Duplicate(Exception):
    """This order was carried out before: a repeat after a restart changes nothing."""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """How many orders there are, the head's hash, and what is wrong ("" for nothing)."""

    count: int
    head: str
    fault: str


def digest(before: str, body: str) -> str:
    """The hash of an entry: over the entry before it and its own text."""
    return hashlib.sha256(f"{before}\n{body}".encode()).hexdigest()


def append(connection: Connection, order: Order) -> None:
    """Add an entry. Runs inside the order's transaction, which holds the write lock. Raises Duplicate."""
    if connection.execute(sa.select(orders.c.id).where(orders.c.claim == order.claim)).first() is not None:
        raise Duplicate(order.claim)
    count, last = head(connection, writes=True)
    body = json.dumps(order.to_json(), sort_keys=True, ensure_ascii=False)
    entry = {"body": body, "before": last, "hash": digest(last, body)}
    about = {"run": order.run, "claim": order.claim, "at": order.at.isoformat(), "who": order.who}
    connection.execute(orders.insert().values(about | entry))
    new = {"count": count + 1, "hash": entry["hash"]}
    if connection.execute(audit_head.update().values(new)).rowcount == 0:
        connection.execute(audit_head.insert().values(id=1, **new))


def head(connection: Connection, *, writes: bool = False) -> tuple[int, str]:
    """Count and hash. Without a row there is no chain to go on with: the next entry will not fit."""
    query = sa.select(audit_head.c.count, audit_head.c.hash)
    row = connection.execute(query.with_for_update() if writes else query).first()
    return (row[0], row[1]) if row is not None else (0, FIRST)


def entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """One entry as it is shown."""
    return {"id": row["id"], "before": row["before"], "hash": row["hash"], **json.loads(row["body"])}


def check(rows: Sequence[Mapping[str, Any]], noted: tuple[int, str]) -> Chain:
    """Every entry against the one before it, and the end against the head."""
    last, fault = FIRST, ""
    for row in rows:
        if row["before"] != last or row["hash"] != digest(row["before"], row["body"]):
            fault = f"broken at order {row['id']}"
            break
        last = row["hash"]
    missing = noted[0] - len(rows)
    if not fault and missing > 0:
        fault = f"the last {missing} are missing" if missing > 1 else "the last one is missing"
    if not fault and (missing or last != noted[1]):
        fault = f"they do not end as the head says ({noted[0]} orders, {noted[1]})"
    return Chain(count=len(rows), head=noted[1], fault=fault)


def place(rows: Sequence[Mapping[str, Any]], noted: str) -> int | None:
    """How many orders there were when this head, or its first digits, was noted; None when it is not in the chain."""
    hashes = [FIRST, *(row["hash"] for row in rows)]
    return next((count for count, known in enumerate(hashes) if known.startswith(noted.lower())), None)
