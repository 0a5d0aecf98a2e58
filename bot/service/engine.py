"""The engine: threads that drain events, carry effects out and poll, around one database."""

import dataclasses
import logging
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta

from bot.core.inbound import InboundEvent
from bot.errors import StoreUnavailable
from bot.service.desk import Desk
from bot.service.holder import is_gone
from bot.service.inbox import Inbox
from bot.service.launches import Launches
from bot.service.orders import Orders
from bot.service.polls import Polls
from bot.service.posts import Posts, for_chat
from bot.service.redraw import EVERY_S, Redraw
from bot.service.reminders import Reminders

log = logging.getLogger(__name__)
LEASE_S = 30.0
STOP_S = 4.0
CLOCK_STEP_S = 2.0
_IDLE_S = 0.5
_AGAIN_S = 1.0


class LeaseLost(Exception):
    """Another bot holds this database's lease; says who."""


class Engine:
    """Everything the bot does by itself. `tick` is called every second by the scheduler.

    Two loops: one takes events in, launches and polls; the other talks to the chat. Whichever hangs, the other goes on.
    """

    def __init__(self, desk: Desk, holder: str, redraw_s: float = EVERY_S) -> None:
        self.desk = desk
        self.polls = Polls(desk)
        self.orders = Orders(desk, self.polls)
        self._holder = holder
        self._launches = Launches(desk, self.polls.hurry)
        self._reminders = Reminders(desk)
        self._posts, self._redraw = Posts(desk), Redraw(desk, redraw_s)
        self._inbox = Inbox(desk, self.orders, self._wake_up)
        self._stop = threading.Event()
        self._wakes = (threading.Event(), threading.Event())
        work = (self._inbox.drain, self._carry, self.polls.tick, self._reminders.take)
        talk = (self._posts.take, self._redraw.take)
        self._loops = [
            threading.Thread(target=self._loop, args=(wake, parts), name=name, daemon=True)
            for name, wake, parts in zip(("work", "talk"), self._wakes, (work, talk), strict=True)
        ]
        # A host is asked as often as is said, also where that is more often than there is anything else to look for.
        self._idle_s = min([_IDLE_S, *(host.poll_s for host in desk.config.hosts.values())])
        self._clock_gap_s = self._gap_s()
        self._ours_until_s = 0.0  # monotonic: nobody else can have taken the lease before
        desk.kick = self._wake_up

    def start(self) -> None:
        """Take the lease, also that of a bot that was killed on this machine, then begin. Raises LeaseLost."""
        held_by = self._take_lease()
        if is_gone(held_by):
            self.desk.store.drop_lease(held_by)
        self._renew()
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        """Let go of everything; attempts live on. What hangs on a host or on the chat is left behind.

        The lease is dropped once nothing of this bot acts any more; else it ends with the process, or by its time.
        """
        self._stop.set()
        self._wake_up()
        for loop in self._loops:
            if loop.is_alive():  # none is where the lease could not be had
                loop.join(STOP_S / 4)
        closed = [part.close(STOP_S / 4) for part in (self._inbox, self._launches, self.polls)]
        if all(closed) and not any(loop.is_alive() for loop in self._loops):
            self._let_go()
        else:
            log.warning("stopped while calls were under way; the next start takes them up again")

    def _let_go(self) -> None:
        try:
            self.desk.store.drop_lease(self._holder)
        except StoreUnavailable as error:
            log.warning("the lease is left to run out: %s", error)

    def receive(self, event: InboundEvent) -> None:
        """Store an event, before it is acknowledged; a repeat is dropped."""
        if self.desk.store.claim(event.claim_key, self.desk.clock.now(), dataclasses.asdict(event)):
            self._wake_up()

    def tick(self) -> None:
        """Once a second: keep the lease, watch the clock, wake the loops. Raises LeaseLost."""
        self._renew()
        gap_s = self._gap_s()
        step_s = gap_s - self._clock_gap_s
        if abs(step_s) > CLOCK_STEP_S:
            log.warning("the clock was set by %+.1f s: what waits is shifted with it", step_s)
            self.desk.store.shift_effects(timedelta(seconds=step_s))
            self._clock_gap_s = gap_s
        self._wake_up()

    def _gap_s(self) -> float:
        clock = self.desk.clock
        return clock.now().timestamp() - clock.monotonic_s()

    def _take_lease(self) -> str:
        """Who holds it now."""
        return self.desk.store.take_lease(self._holder, LEASE_S)

    def _renew(self) -> None:
        asked_s = self.desk.clock.monotonic_s()
        holder = self._take_lease()
        if holder == self._holder:
            self._ours_until_s = asked_s + LEASE_S
        if holder != self._holder:
            raise LeaseLost(f"another bot is at work on this database: {holder}")

    def _wake_up(self) -> None:
        for wake in self._wakes:
            wake.set()

    def _loop(self, wake: threading.Event, parts: Sequence[Callable[[], None]]) -> None:
        while not self._stop.is_set():
            wake.wait(self._idle_s)
            wake.clear()
            try:
                self._make_sure()
                self._each(parts)
            except (LeaseLost, StoreUnavailable) as error:
                log.warning("%s", error)
                self._stop.wait(_AGAIN_S)

    def _make_sure(self) -> None:
        """After a sleep, or while the database was away, another bot may have taken over. Raises LeaseLost."""
        if self.desk.clock.monotonic_s() > self._ours_until_s:
            self._renew()

    def _each(self, parts: Sequence[Callable[[], None]]) -> None:
        """A fault in one part leaves the others. Raises StoreUnavailable: without it there is nothing to do."""
        for part in parts:
            try:
                if not self._stop.is_set():
                    part()
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("engine")

    def _carry(self) -> None:
        """Effects on hosts, each in a thread of its own."""
        for stored in self.desk.store.due_effects(self.desk.clock.now()):
            if not for_chat(stored.effect):
                self._launches.take(stored)
