"""What was heard last, and what was missed meanwhile: the stored cursor never passes what was not caught up."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from bot.core.inbound import InboundEvent
from bot.errors import ChatUnavailable, StoreUnavailable

log = logging.getLogger("bot")
CURSOR, DIRECT = "heard", "heard-direct"
AGAIN_S = (2.0, 5.0, 15.0, 60.0)


class Cursors(Protocol):
    """Where the cursor is kept."""

    def cursor(self, name: str) -> str | None: ...

    def set_cursor(self, name: str, value: str) -> None: ...


class Hearing:
    """Passes events on to `receive`. `missed(since)` fetches what was said since a ts; it may raise ChatUnavailable.

    Between a cut and the end of the catch-up that follows it, what is heard alive does not move the cursor: a bot
    that is killed in that time looks at the same gap again. Repeats are told by their claim keys.
    """

    def __init__(
        self,
        store: Cursors,
        receive: Callable[[InboundEvent], None],
        missed: Callable[[str], Iterable[InboundEvent]],
        cursor: str = CURSOR,
    ) -> None:
        self._store, self._receive, self._missed, self._cursor = store, receive, missed, cursor
        self._lock = threading.Lock()
        self._whole = False  # nothing is missing up to the newest event heard
        self._newest = "0"
        self._cut = 0
        self._stop = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    def hear(self, event: InboundEvent) -> None:
        """Store an event; raises when it cannot be stored, so that it is delivered again.

        The chat soon gives up on that: what was not stored is a gap like any other, and is caught up.
        """
        try:
            self._receive(event)
        except StoreUnavailable:
            self.cut_off()
            self.connected()
            raise
        if event.kind == "message":
            with self._lock:
                self._newest = max(self._newest, event.ts, key=float)
                if self._whole:
                    self._advance()

    def cut_off(self) -> None:
        """There is no connection: whatever is said from now on may be missed."""
        with self._lock:
            self._whole = False
            self._cut += 1

    def connected(self) -> None:
        """There is one again. Returns at once."""
        threading.Thread(target=self._catch_up, args=(self._cut,), name="catch-up", daemon=True).start()

    def _catch_up(self, cut: int) -> None:
        for attempt in range(1_000_000):
            try:
                num = self._take_missed(cut)
                break
            except (ChatUnavailable, StoreUnavailable) as error:
                log.warning("catching up: %s", error)
            except Exception:  # whatever it is: the gap stays open until it was read
                log.exception("catching up")
            if self._stop.wait(AGAIN_S[min(attempt, len(AGAIN_S) - 1)]) or cut != self._cut:
                return
        log.info("caught up (%s): %d messages looked at", self._cursor, num)

    def _take_missed(self, cut: int) -> int:
        """How many were looked at. Raises ChatUnavailable, StoreUnavailable: then nothing is taken for heard."""
        since = self._store.cursor(self._cursor)
        events = list(self._missed(since)) if since is not None else []
        for event in events:
            self._receive(event)
        said = [event.ts for event in events if event.kind == "message"]
        with self._lock:
            self._newest = max(self._newest, *said, since or f"{time.time():.6f}", key=float)
            if cut == self._cut:  # else another catch-up is under way, from the same cursor
                self._whole = True
                self._advance()
        return len(events)

    def _advance(self) -> None:
        heard = self._store.cursor(self._cursor)
        if heard is None or float(self._newest) > float(heard):
            self._store.set_cursor(self._cursor, self._newest)


class Ears:
    """Two hearings, so that neither waits for what the other cannot read: of channels, and of direct messages."""

    def __init__(self, channels: Hearing, direct: Hearing) -> None:
        self._channels, self._direct = channels, direct

    def hear(self, event: InboundEvent) -> None:
        (self._direct if event.channel_type == "im" else self._channels).hear(event)

    def cut_off(self) -> None:
        self._channels.cut_off()
        self._direct.cut_off()

    def connected(self) -> None:
        self._channels.connected()
        self._direct.connected()

    def stop(self) -> None:
        self._channels.stop()
        self._direct.stop()
