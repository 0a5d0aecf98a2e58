"""What several transactions write: events handled, effects wanted, begun and withdrawn, the order that led to them."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.engine import Connection

from bot.adapters.store import audit
from bot.adapters.store.codec import dump_effect, text
from bot.adapters.store.schema import effects, events
from bot.core.effects import Effect, Launch, Withdraw
from bot.core.orders import Order


class Conflict(Exception):
    """The run changed since it was read, or an effect that was to be withdrawn has begun. Load and step again."""


def begin(connection: Connection, effect_id: int, at: datetime) -> None:
    """Raises Conflict when it was begun, done or withdrawn: what several reach for, one begins."""
    begun = connection.execute(
        effects.update()
        .where(effects.c.id == effect_id, effects.c.begun_at.is_(None), effects.c.done_at.is_(None))
        .values(begun_at=text(at))
    )
    if begun.rowcount != 1:
        raise Conflict(f"effect {effect_id} was begun, done or withdrawn")


def handled(connection: Connection, event_id: int, at: datetime, outcome: str) -> None:
    connection.execute(events.update().where(events.c.id == event_id).values(handled_at=text(at), outcome=outcome))


def settle(
    connection: Connection,
    run_id: str,
    wanted: Sequence[Effect],
    at: datetime,
    order: Order | None,
) -> None:
    """Raises Conflict when an effect that is to be withdrawn has begun."""
    for effect in wanted:
        if isinstance(effect, Withdraw):
            _withdraw(connection, effect.key, at)
            continue
        kind, body = dump_effect(effect)
        not_before = effect.not_before if isinstance(effect, Launch) else at
        connection.execute(
            effects.insert().values(run=run_id, kind=kind, key=effect.key, body=body, not_before=text(not_before))
        )
    if order is not None:
        audit.append(connection, order)


def unknown(connection: Connection, wanted: Sequence[Effect]) -> list[Effect]:
    """Those whose key was not stored before."""
    keys = [effect.key for effect in wanted]
    known = set(connection.scalars(select(effects.c.key).where(effects.c.key.in_(keys))))
    return [effect for effect in wanted if effect.key not in known]


def _withdraw(connection: Connection, key: str, at: datetime) -> None:
    taken = connection.execute(
        effects.update()
        .where(effects.c.key == key, effects.c.begun_at.is_(None), effects.c.done_at.is_(None))
        .values(done_at=text(at), result="withdrawn")
    )
    if taken.rowcount != 1:
        raise Conflict(f"{key} has begun")
