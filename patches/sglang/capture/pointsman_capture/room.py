"""A bound on bytes that are under way: who brings more waits."""

import threading


class Room:
    """One piece larger than the bound passes when it is alone."""

    def __init__(self, most):
        self._most = most
        self._used = 0
        self._changed = threading.Condition()

    def take(self, size):
        with self._changed:
            self._changed.wait_for(lambda: self._used == 0 or self._used + size <= self._most)
            self._used += size

    def give(self, size):
        with self._changed:
            self._used -= size
            self._changed.notify_all()

    def wait_empty(self, timeout_s):
        """Whether nothing is under way, after waiting for it."""
        with self._changed:
            return self._changed.wait_for(lambda: self._used == 0, timeout_s)
