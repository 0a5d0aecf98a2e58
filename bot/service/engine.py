"""The engine: threads that drain events, carry effects out and poll, around one database."""

import dataclasses
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from bot.core.inbound import InboundEvent
from bot.service.desk import Desk, Keyed
from bot.service.holder import is_gone
from bot.service.launches import Launches
from bot.service.orders import Orders
from bot.service.polls import Polls
from bot.service.posts import Posts, for_chat
from bot.service.redraw import EVERY_S, Redraw

log = logging.getLogger(__name__)
LEASE_S = 30.0
_IDLE_S = 1.0


class LeaseLost(Exception):
    """Another bot holds this database's lease; says who."""


class Engine:
    """Everything the bot does by itself. `tick` is called every second by the scheduler."""

    def __init__(self, desk: Desk, holder: str, redraw_s: float = EVERY_S) -> None:
        self.desk = desk
        self.polls = Polls(desk)
        self.orders = Orders(desk, self.polls)
        self._holder = holder
        self._launches = Launches(desk, self.polls.hurry)
        self._posts = Posts(desk)
        self._redraw = Redraw(desk, redraw_s)
        self._threads = Keyed()
        self._pool = ThreadPoolExecutor(6, thread_name_prefix="order")
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._chat = threading.Thread(target=self._chat_loop, name="chat", daemon=True)
        desk.kick = self._wake.set

    def start(self) -> None:
        """Take the lease, also that of a bot that was killed on this machine, then begin. Raises LeaseLost."""
        held_by = self._take_lease()
        if is_gone(held_by):
            self.desk.store.drop_lease(held_by)
        self._renew()
        self._chat.start()

    def stop(self) -> None:
        """Let go of everything; attempts live on."""
        self._stop.set()
        self._wake.set()
        self._chat.join(timeout=10)
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._launches.close()
        self.polls.close()
        self.desk.store.drop_lease(self._holder)

    def receive(self, event: InboundEvent) -> None:
        """Store an event, before it is acknowledged; a repeat is dropped."""
        if self.desk.store.claim(event.claim_key, self.desk.clock.now(), dataclasses.asdict(event)):
            self._wake.set()

    def tick(self) -> None:
        """Once a second: keep the lease, wake the loop. Raises LeaseLost."""
        self._renew()
        self._wake.set()

    def _take_lease(self) -> str:
        """Who holds it now."""
        return self.desk.store.take_lease(self._holder, self.desk.clock.now().timestamp(), LEASE_S)

    def _renew(self) -> None:
        holder = self._take_lease()
        if holder != self._holder:
            raise LeaseLost(f"another bot is at work on this database: {holder}")

    def _chat_loop(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(_IDLE_S)
            self._wake.clear()
            for part in (self._drain, self._carry, self.polls.tick, self._redraw.take):
                self._guarded(part)

    def _guarded(self, part: Callable[[], None]) -> None:
        try:
            if not self._stop.is_set():
                part()
        except Exception:
            log.exception("engine")

    def _drain(self) -> None:
        """Hand each pending event to the pool, one at a time a thread of the chat, in order."""
        seen: set[str] = set()
        for event_id, body in self.desk.store.pending_events():
            event = InboundEvent(**body)
            key = f"{event.channel}/{event.thread}"
            if key in seen:
                continue
            seen.add(key)
            if self._threads.take(key):
                self._pool.submit(self._handle, event_id, event, key)

    def _handle(self, event_id: int, event: InboundEvent, key: str) -> None:
        try:
            if self.desk.store.is_pending(event_id):
                self.orders.handle(event_id, event)
        except Exception as error:
            log.exception("event %s", event.claim_key)
            self.orders.apologise(event_id, event, error)
        finally:
            self._threads.give(key)
            self._wake.set()

    def _carry(self) -> None:
        """Chat effects here, in order; those on hosts in threads of their own."""
        due = self.desk.store.due_effects(self.desk.clock.now())
        for stored in due:
            if not for_chat(stored.effect):
                self._launches.take(stored)
        self._posts.take([stored for stored in due if for_chat(stored.effect)])
