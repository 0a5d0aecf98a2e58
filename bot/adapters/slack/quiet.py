"""Which methods may not be called yet: Slack said how long, or they gave no answer several times in a row."""

import threading
from collections.abc import Callable
from typing import Final

from bot.errors import ChatUnavailable

RATE_LIMITED, NO_ANSWER = "ratelimited", "no_answer_lately"
SILENT_AFTER: Final = 2  # one call may fail for what is in it
PATIENCE_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class Quiet:
    """By method, as Slack's limits are (for each workspace and app). For any number of threads; nothing sleeps."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._until: dict[str, tuple[float, str]] = {}
        self._unanswered: dict[str, set[str]] = {}
        self._rests: dict[str, int] = {}
        self._lock = threading.Lock()

    def check(self, method: str) -> None:
        """Raises ChatUnavailable for a method that has to rest; then nothing was sent."""
        with self._lock:
            until, code = self._until.get(method, (0.0, ""))
            wait_s = until - self._now()
        if wait_s > 0:
            words = "rate limited" if code == RATE_LIMITED else "gave no answer several times"
            raise ChatUnavailable(f"{method}: {words}", retry_after_s=wait_s, code=code)

    def answered(self, method: str) -> None:
        """It works, whether it did or refused what was asked."""
        with self._lock:
            self._unanswered.pop(method, None)
            self._rests.pop(method, None)

    def limited(self, method: str, wait_s: float) -> None:
        with self._lock:
            self._rest(method, wait_s, RATE_LIMITED)

    def unanswered(self, method: str, about: str) -> None:
        """Once calls about different things had no answer, those behind need not wait for theirs one by one."""
        with self._lock:
            calls = self._unanswered.setdefault(method, set())
            calls.add(about)
            if len(calls) >= SILENT_AFTER:
                rests = self._rests.get(method, 0)
                self._rests[method] = rests + 1
                self._rest(method, PATIENCE_S[min(rests, len(PATIENCE_S) - 1)], NO_ANSWER)

    def _rest(self, method: str, wait_s: float, code: str) -> None:
        """Never for less than it was to rest already."""
        self._until[method] = max(self._until.get(method, (0.0, "")), (self._now() + wait_s, code))
