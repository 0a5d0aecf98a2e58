"""The store: every order is one transaction."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from bot.adapters.store import audit, writing
from bot.adapters.store.codec import dump_run, load_effect, load_run, text
from bot.adapters.store.schema import cursors, effects, events, leases, orders, posts, runs
from bot.adapters.store.writing import Conflict
from bot.core.cards import Card
from bot.core.effects import Effect, Post, Whisper
from bot.core.model import Phase, Run
from bot.core.orders import Order
from bot.core.stored import Posted, StoredEffect

ENDED = (Phase.DONE.value, Phase.CANCELLED.value)
LEASE = "bot"
log = logging.getLogger(__name__)


class Store:
    """All state of the bot (port RunStore). Thread-safe; every method is one transaction."""

    conflict: type[Exception] = Conflict
    duplicate: type[Exception] = audit.Duplicate

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._aside: dict[str, int] = {}  # the versions that do not load
        self._known: dict[str, Run] = {}  # runs are frozen: one read at this version is good until it changes
        self._writer = engine.execution_options(writes=True)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._writer.begin() as connection:
            yield connection

    # events

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
        with self._engine.connect() as connection:
            return [(row.id, json.loads(row.body)) for row in connection.execute(query.limit(limit))]

    def handled(self, event_id: int, at: datetime, outcome: str) -> None:
        """Mark an event that led to no order."""
        with self._write() as connection:
            writing.handled(connection, event_id, at, outcome)

    def event_outcome(self, claim: str) -> str | None:
        """What became of an event, None while it is pending."""
        query = sa.select(events.c.outcome).where(events.c.claim == claim, events.c.handled_at.is_not(None))
        with self._engine.connect() as connection:
            return connection.execute(query).scalar()

    # runs

    def next_run_number(self) -> int:
        with self._engine.connect() as connection:
            return (connection.execute(sa.select(sa.func.max(runs.c.number))).scalar() or 0) + 1

    def add_run(
        self,
        run: Run,
        number: int,
        wanted: Sequence[Effect],
        at: datetime,
        *,
        order: Order | None = None,
    ) -> None:
        """Store a new run with its first effects. Raises Conflict when the number is taken."""
        row = {"id": run.id, "number": number, "phase": run.phase.value, "channel": run.channel}
        try:
            with self._write() as connection:
                body = {"version": run.version, "updated_at": text(at), "body": dump_run(run)}
                connection.execute(runs.insert().values(row | body))
                writing.settle(connection, run.id, wanted, at, order)
        except sa.exc.IntegrityError as error:
            raise Conflict(f"run {run.id} exists") from error

    def save(
        self,
        run: Run,
        was: int,
        wanted: Sequence[Effect],
        at: datetime,
        *,
        order: Order | None = None,
        begin: int | None = None,
    ) -> None:
        """Run, order and effects in one transaction.

        `was` is the version that the step started from; `begin` an effect that begins with it. Raises Conflict.
        """
        with self._write() as connection:
            changed = connection.execute(
                runs.update()
                .where(runs.c.id == run.id, runs.c.version == was)
                .values(phase=run.phase.value, version=run.version, updated_at=text(at), body=dump_run(run))
            )
            if changed.rowcount != 1:
                raise Conflict(f"{run.id} is no longer at version {was}")
            if begin is not None:
                writing.begin(connection, begin, at)
            writing.settle(connection, run.id, wanted, at, order)

    def note_order(
        self, event_id: int, run_id: str, order: Order | None, wanted: Sequence[Effect], at: datetime, outcome: str
    ) -> None:
        """An event is handled: its answers, but for keys known already, and the audit entry if none was written."""
        with self._write() as connection:
            writing.settle(connection, run_id, writing.unknown(connection, wanted), at, order)
            writing.handled(connection, event_id, at, outcome)

    def run(self, run_id: str) -> Run:
        """Raises KeyError."""
        with self._engine.connect() as connection:
            body = connection.execute(sa.select(runs.c.body).where(runs.c.id == run_id)).scalar()
        if body is None:
            raise KeyError(run_id)
        return load_run(body)

    def all_runs(self, live_only: bool = False) -> list[Run]:
        """Runs in the order they were planned. One that does not load is set aside and logged: the others go on."""
        query = sa.select(runs.c.id, runs.c.version).order_by(runs.c.number)
        if live_only:
            query = query.where(runs.c.phase.not_in(ENDED))
        with self._engine.connect() as connection:
            wanted = [(row.id, row.version) for row in connection.execute(query)]
            stale = [i for i, version in wanted if version not in (self._known_version(i), self._aside.get(i))]
            if stale:
                bodies = sa.select(runs.c.id, runs.c.body).where(runs.c.id.in_(stale))
                for row in connection.execute(bodies):
                    self._take(row.id, dict(wanted)[row.id], row.body)
        return [self._known[id_] for id_, version in wanted if self._aside.get(id_) != version]

    def _take(self, run_id: str, version: int, body: str) -> None:
        try:
            self._known[run_id] = load_run(body)
            self._aside.pop(run_id, None)
        except ValueError as error:
            if self._aside.get(run_id) != version:
                log.error("run %s is set aside, its record does not load: %.500s", run_id, error)
            self._aside[run_id] = version

    def _known_version(self, run_id: str) -> int | None:
        known = self._known.get(run_id)
        return known.version if known else None

    # effects

    def add_effects(self, run_id: str, wanted: Sequence[Effect], at: datetime) -> None:
        """Effects that come of no step. One whose key is known already is left out."""
        with self._write() as connection:
            writing.settle(connection, run_id, writing.unknown(connection, wanted), at, None)

    def due_effects(self, now: datetime) -> list[StoredEffect]:
        """Effects to be carried out now, oldest first."""
        return [stored for stored in self.pending_effects() if stored.not_before <= now]

    def pending_effects(self) -> list[StoredEffect]:
        """Effects that are not done, due or not, oldest first."""
        query = sa.select(effects).where(effects.c.done_at.is_(None)).order_by(effects.c.id)
        with self._engine.connect() as connection:
            return [
                StoredEffect(
                    id=row.id,
                    run=row.run,
                    effect=load_effect(row.kind, row.body),
                    begun=row.begun_at is not None,
                    tries=row.tries,
                    not_before=datetime.fromisoformat(row.not_before),
                )
                for row in connection.execute(query)
            ]

    def begin_effect(self, effect_id: int, at: datetime) -> None:
        """From here on it may have happened. Raises Conflict when it was done or withdrawn."""
        with self._write() as connection:
            writing.begin(connection, effect_id, at)

    def finish_effect(self, effect_id: int, at: datetime, result: str = "") -> None:
        with self._write() as connection:
            connection.execute(
                effects.update().where(effects.c.id == effect_id).values(done_at=text(at), result=result)
            )

    def delay_effect(self, effect_id: int, until: datetime, why: str) -> None:
        """Try again later."""
        with self._write() as connection:
            connection.execute(
                effects.update()
                .where(effects.c.id == effect_id)
                .values(not_before=text(until), tries=effects.c.tries + 1, result=why)
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
        with self._engine.connect() as connection:
            found = [load_effect(row.kind, row.body) for row in connection.execute(query)]
        return [effect.card for effect in found if isinstance(effect, Post | Whisper)]

    def is_pending(self, event_id: int) -> bool:
        """Whether an event still has to be handled."""
        query = sa.select(events.c.id).where(events.c.id == event_id, events.c.handled_at.is_(None))
        with self._engine.connect() as connection:
            return connection.execute(query).first() is not None

    # posts

    def add_post(self, posted: Posted) -> None:
        with self._write() as connection:
            connection.execute(posts.delete().where(posts.c.key == posted.key))
            connection.execute(posts.insert().values(vars(posted)))

    def post(self, key: str) -> Posted | None:
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(posts).where(posts.c.key == key)).mappings().first()
        return Posted(**row) if row else None

    def posted_at(self, channel: str, ts: str) -> Posted | None:
        """What was posted there."""
        query = sa.select(posts).where(posts.c.channel == channel, posts.c.ts == ts)
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        return Posted(**row) if row else None

    def redrawn(self, key: str, digest: str) -> None:
        """Remember what a post shows now."""
        with self._write() as connection:
            connection.execute(posts.update().where(posts.c.key == key).values(digest=digest))

    def thread_posts(self, run_id: str) -> list[Posted]:
        """Everything posted for a run, oldest first."""
        query = sa.select(posts).where(posts.c.run == run_id).order_by(posts.c.ts)
        with self._engine.connect() as connection:
            return [Posted(**row) for row in connection.execute(query).mappings()]

    def run_at(self, channel: str, thread_ts: str) -> str | None:
        """The run whose thread this is."""
        query = sa.select(posts.c.run).where(posts.c.channel == channel, posts.c.ts == thread_ts)
        with self._engine.connect() as connection:
            return connection.execute(query).scalar()

    # orders

    def carried(self, claim: str) -> list[str]:
        """The outcomes of the orders that this event led to, in their order."""
        query = sa.select(orders.c.body).where(orders.c.claim.startswith(claim + "#", autoescape=True))
        with self._engine.connect() as connection:
            found = [json.loads(row.body) for row in connection.execute(query.order_by(orders.c.id))]
        return [str(order["outcome"]) for order in found]

    def orders(self, run_id: str | None = None) -> list[dict[str, Any]]:
        """The audit log, oldest first, with its hashes."""
        query = sa.select(orders).order_by(orders.c.id)
        if run_id is not None:
            query = query.where(orders.c.run == run_id)
        with self._engine.connect() as connection:
            return [audit.entry(dict(row)) for row in connection.execute(query).mappings()]

    def verify_orders(self) -> tuple[int, int | None]:
        """How many orders there are, and the id of the first that breaks the chain."""
        with self._engine.connect() as connection:
            rows = list(connection.execute(sa.select(orders).order_by(orders.c.id)).mappings())
        return len(rows), audit.broken([dict(row) for row in rows])

    # lease and cursors

    def take_lease(self, holder: str, now_s: float, ttl_s: float) -> str:
        """Take or renew the lease that makes one bot active; returns who holds it now."""
        with self._write() as connection:
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
        with self._engine.connect() as connection:
            return connection.execute(sa.select(cursors.c.value).where(cursors.c.name == name)).scalar()

    def set_cursor(self, name: str, value: str) -> None:
        with self._write() as connection:
            connection.execute(cursors.delete().where(cursors.c.name == name))
            connection.execute(cursors.insert().values(name=name, value=value))
