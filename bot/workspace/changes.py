"""The stream of what changed, numbered, for the page and for tests that wait."""

import asyncio
import uuid
from collections import deque

from bot.workspace.refusal import Json

KEPT = 2_000


class Changes:
    """`seq` grows by one a change; who asks for changes older than those kept is told to reload."""

    def __init__(self) -> None:
        self.boot = uuid.uuid4().hex[:8]
        self.seq = 0
        self._kept: deque[Json] = deque(maxlen=KEPT)
        self._waiters: set[asyncio.Future[None]] = set()
        self.closed = False

    def note(self, kind: str, **what: object) -> None:
        self.seq += 1
        self._kept.append({"seq": self.seq, "kind": kind, **what})
        self._wake()

    def close(self) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def since(self, seq: int) -> list[Json]:
        if seq > self.seq or (self._kept and seq < self._kept[0]["seq"] - 1):
            return [{"seq": self.seq, "kind": "reload"}]
        return [c for c in self._kept if c["seq"] > seq]

    async def wait(self, seq: int, timeout_s: float) -> list[Json]:
        """Changes after `seq`; [] when none came in time or the server stops."""
        if (found := self.since(seq)) or self.closed:
            return found
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await asyncio.wait_for(waiter, timeout_s)
        except TimeoutError:
            return []
        finally:
            self._waiters.discard(waiter)
        return self.since(seq)
