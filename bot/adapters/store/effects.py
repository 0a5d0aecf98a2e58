"""Effects: what is still to be carried out, and what was."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from bot.adapters.store import writing
from bot.adapters.store.codec import load_effect, text
from bot.adapters.store.rows import Rows
from bot.adapters.store.schema import effects
from bot.core.cards import Card
from bot.core.effects import Effect, Post, Whisper
from bot.core.stored import StoredEffect

log = logging.getLogger(__name__)


class EffectRows(Rows):
    """Effects in the order they were wanted."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._unread: set[int] = set()  # those that do not load

    def add_effects(self, run_id: str, wanted: Sequence[Effect], at: datetime) -> None:
        """Effects that come of no step. One whose key is known already is left out."""
        with self._write() as connection:
            writing.settle(connection, run_id, writing.unknown(connection, wanted), at, None)

    def due_effects(self, now: datetime) -> list[StoredEffect]:
        """Effects to be carried out now, oldest first."""
        return [stored for stored in self.pending_effects() if stored.not_before <= now]

    def pending_effects(self) -> list[StoredEffect]:
        """Effects that are not done, due or not, oldest first. One that does not load is set aside and logged."""
        query = sa.select(effects).where(effects.c.done_at.is_(None)).order_by(effects.c.id)
        with self._read() as connection:
            found = [self._load(row) for row in connection.execute(query)]
        return [stored for stored in found if stored is not None]

    def _load(self, row: Any) -> StoredEffect | None:
        try:
            return StoredEffect(
                id=row.id,
                run=row.run,
                effect=load_effect(row.kind, row.body),
                begun=row.begun_at is not None,
                tries=row.tries,
                not_before=datetime.fromisoformat(row.not_before),
            )
        except (ValueError, KeyError) as error:
            if row.id not in self._unread:
                log.error("effect %s of %s is set aside, it does not load: %.500r", row.key, row.run, error)
            self._unread.add(row.id)
            return None

    def begin_effect(self, effect_id: int, at: datetime) -> None:
        """From here on it may have happened. Raises Conflict when it was begun, done or withdrawn."""
        with self._write() as connection:
            writing.begin(connection, effect_id, at)

    def finish_effect(self, effect_id: int, at: datetime, result: str = "") -> None:
        with self._write() as connection:
            connection.execute(
                effects.update().where(effects.c.id == effect_id).values(done_at=text(at), result=result)
            )

    def delay_effect(self, effect_id: int, until: datetime, why: str = "") -> None:
        """Try again later. `why` it failed; without, it was not tried."""
        failed = {"tries": effects.c.tries + 1, "result": why} if why else {}
        with self._write() as connection:
            connection.execute(
                effects.update().where(effects.c.id == effect_id).values(not_before=text(until), **failed)
            )

    def shift_effects(self, by: timedelta) -> None:
        """The clock was set: what waits, waits as long as it was meant to."""
        with self._write() as connection:
            query = sa.select(effects.c.id, effects.c.not_before).where(effects.c.done_at.is_(None))
            for row in list(connection.execute(query)):
                moved = text(datetime.fromisoformat(row.not_before) + by)
                connection.execute(effects.update().where(effects.c.id == row.id).values(not_before=moved))

    def cards_of(self, key: str) -> list[Card]:
        """What was said under keys that start with `key`."""
        query = sa.select(effects).where(effects.c.key.startswith(key, autoescape=True)).order_by(effects.c.id)
        with self._read() as connection:
            found = [load_effect(row.kind, row.body) for row in connection.execute(query)]
        return [effect.card for effect in found if isinstance(effect, Post | Whisper)]
