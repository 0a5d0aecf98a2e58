"""Stored events on their way to be handled."""

import logging
import threading
from collections.abc import Callable

from bot.core.inbound import InboundEvent
from bot.errors import StoreUnavailable
from bot.service.crew import Crew
from bot.service.desk import Desk
from bot.service.orders import Orders

log = logging.getLogger(__name__)
AT_ONCE = 32
_AGAIN_S = 2.0


class Inbox:
    """Events of one run are handled one after the other, whatever thread they came by; those of others beside them.

    A run whose host hangs delays its own orders alone.
    """

    def __init__(self, desk: Desk, orders: Orders, wake: Callable[[], None]) -> None:
        self._desk, self._orders, self._wake = desk, orders, wake
        self._crew = Crew("order", AT_ONCE)
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._again_s: dict[int, float] = {}
        self._keys: dict[int, frozenset[str]] = {}

    def close(self, timeout_s: float) -> bool:
        return self._crew.close(timeout_s)

    def drain(self) -> None:
        """Hand out every event that none of its runs' earlier events is in the way of."""
        taken: set[str] = set()
        pending = self._desk.store.pending_events()
        self._keys = {event_id: keys for event_id, keys in self._keys.items() if event_id in dict(pending)}
        now_s = self._desk.clock.monotonic_s()
        for event_id, body in pending:
            event = InboundEvent(**body)
            keys = self._keys.get(event_id)
            if keys is None and (opening := self._orders.opening(event)):
                taken |= opening  # whatever follows it and is known to be of that run waits as well
                continue
            if keys is None:
                keys = self._keys[event_id] = self._runs_of(event_id, event)
            free = taken.isdisjoint(keys)
            taken |= keys
            with self._lock:
                due = event_id not in self._running and now_s >= self._again_s.get(event_id, 0.0)
                if free and due:
                    self._running.add(event_id)
            if free and due:
                self._crew.submit(self._handle, event_id, event)

    def _runs_of(self, event_id: int, event: InboundEvent) -> frozenset[str]:
        """One that cannot be read belongs to no run: its own handling fails, and no other's."""
        try:
            return self._orders.runs_of(event_id, event)
        except Exception:
            log.exception("event %s", event.claim_key)
            return frozenset({f"event {event_id}"})

    def _handle(self, event_id: int, event: InboundEvent) -> None:
        try:
            if self._desk.store.is_pending(event_id):
                self._orders.handle(event_id, event)
            self._again_s.pop(event_id, None)
        except StoreUnavailable:  # it stays pending, and is not lost
            self._again_s[event_id] = self._desk.clock.monotonic_s() + _AGAIN_S
            raise
        except Exception as error:
            log.exception("event %s", event.claim_key)
            self._again_s[event_id] = self._desk.clock.monotonic_s() + _AGAIN_S
            self._orders.apologise(event_id, event, error)
        finally:
            with self._lock:
                self._running.discard(event_id)
            self._wake()
