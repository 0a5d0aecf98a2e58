"""A crew: daemon threads that take work in turn, and let go within a given time."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from bot.errors import StoreUnavailable

log = logging.getLogger(__name__)


class Crew:
    """Like a pool of threads, but one that never keeps the process alive: a call that hangs on a host must not."""

    def __init__(self, name: str, size: int) -> None:
        self._name, self._size = name, size
        self._work: queue.SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._open = 0  # submitted and not done
        self._closed = False

    def submit(self, call: Callable[..., object], *args: Any) -> None:
        """Do it as soon as a thread is free; what it raises is logged. Nothing is taken any more once closed."""
        with self._lock:
            if self._closed:
                return
            self._work.put((call, args))
            self._open += 1
            if self._open > len(self._threads) and len(self._threads) < self._size:
                thread = threading.Thread(target=self._serve, name=f"{self._name}-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()

    def close(self, timeout_s: float) -> bool:
        """Take nothing new, drop what has not begun, wait for what has. Whether all came to an end in time."""
        with self._lock:
            self._closed = True
            while not self._work.empty():
                self._work.get()
            for _ in self._threads:
                self._work.put(None)
        until_s = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _serve(self) -> None:
        while (found := self._work.get()) is not None:
            call, args = found
            try:
                call(*args)
            except StoreUnavailable as error:  # whatever it was is still to be done, and taken up again
                log.warning("%s: %s", self._name, error)
            except Exception:
                log.exception("%s", self._name)
            finally:
                with self._lock:
                    self._open -= 1
