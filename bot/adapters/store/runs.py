"""Runs, each saved with the effects and the order that came with the change."""

import logging
from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from bot.adapters.store import writing
from bot.adapters.store.codec import dump_run, load_run, text
from bot.adapters.store.rows import Rows
from bot.adapters.store.schema import runs
from bot.adapters.store.writing import Conflict
from bot.core.effects import Effect
from bot.core.model import Phase, Run
from bot.core.orders import Order

ENDED = (Phase.DONE.value, Phase.CANCELLED.value)
log = logging.getLogger(__name__)


class RunRows(Rows):
    """Runs by their versions."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._aside: dict[str, int] = {}  # the versions that do not load
        self._known: dict[str, Run] = {}  # runs are frozen: one read at this version is good until it changes

    def next_run_number(self) -> int:
        with self._read() as connection:
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

    def run(self, run_id: str) -> Run:
        """Raises KeyError."""
        with self._read() as connection:
            body = connection.execute(sa.select(runs.c.body).where(runs.c.id == run_id)).scalar()
        if body is None:
            raise KeyError(run_id)
        return load_run(body)

    def all_runs(self, live_only: bool = False) -> list[Run]:
        """Runs in the order they were planned. One that does not load is set aside and logged: the others go on."""
        query = sa.select(runs.c.id, runs.c.version).order_by(runs.c.number)
        if live_only:
            query = query.where(runs.c.phase.not_in(ENDED))
        with self._read() as connection:
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
