"""Runs that wait for a person: reminded when due."""

import logging

from bot.core import events
from bot.core.errors import WrongState
from bot.errors import StoreUnavailable
from bot.service.desk import Desk

log = logging.getLogger(__name__)
EVERY_S = 5.0


class Reminders:
    """Looks every few seconds; due times are the runs' own."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._next_s = 0.0

    def take(self) -> None:
        """Remind of what is due."""
        now_s = self._desk.clock.monotonic_s()
        if now_s < self._next_s:
            return
        self._next_s = now_s + EVERY_S
        now = self._desk.clock.now()
        for run in self._desk.store.all_runs(live_only=True):
            if run.reminder is None or run.reminder.next_at > now or run.pipeline not in self._desk.pipelines:
                continue
            try:
                self._desk.apply(run.id, events.Remind(at=now))
            except WrongState as error:  # it has moved on meanwhile
                log.debug("%s: %s", run.id, error)
            except StoreUnavailable:
                raise
            except Exception:  # the others are reminded all the same
                log.exception("%s cannot be reminded", run.id)
