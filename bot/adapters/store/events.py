"""Raw events of the chat: claimed once, handled once."""

import json
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bot.adapters.store import writing
from bot.adapters.store.codec import text
from bot.adapters.store.rows import Rows
from bot.adapters.store.schema import events


class EventRows(Rows):
    """What came in, and what became of it."""

    def claim(self, claim: str, at: datetime, body: dict[str, Any]) -> bool:
        """Store a raw event. False when it is known already."""
        row = {"claim": claim, "at": text(at), "body": json.dumps(body)}
        try:
            with self._write() as connection:
                connection.execute(events.insert().values(row))
        except sa.exc.IntegrityError:
            return False
        return True

    def pending_events(self, limit: int = 500) -> list[tuple[int, dict[str, Any]]]:
        """Events not handled yet, oldest first."""
        query = sa.select(events.c.id, events.c.body).where(events.c.handled_at.is_(None)).order_by(events.c.id)
        with self._read() as connection:
            return [(row.id, json.loads(row.body)) for row in connection.execute(query.limit(limit))]

    def handled(self, event_id: int, at: datetime, outcome: str) -> None:
        """Mark an event that led to no order."""
        with self._write() as connection:
            writing.handled(connection, event_id, at, outcome)

    def event_outcome(self, claim: str) -> str | None:
        """What became of an event, None while it is pending."""
        query = sa.select(events.c.outcome).where(events.c.claim == claim, events.c.handled_at.is_not(None))
        with self._read() as connection:
            return connection.execute(query).scalar()

    def is_pending(self, event_id: int) -> bool:
        """Whether an event still has to be handled."""
        query = sa.select(events.c.id).where(events.c.id == event_id, events.c.handled_at.is_(None))
        with self._read() as connection:
            return connection.execute(query).first() is not None
