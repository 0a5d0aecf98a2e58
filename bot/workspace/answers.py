"""Response URLs: how an app answers a click for the next half hour, five times at most."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from bot.workspace import limits
from bot.workspace.refusal import Refusal


@dataclass(kw_only=True)
class Answerable:
    """A click that may still be answered."""

    channel: str
    ts: str
    user: str
    thread_ts: str | None
    made_at: float
    used: int = 0


class Answers:
    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._open: dict[str, Answerable] = {}

    def issue(self, channel: str, ts: str, user: str, thread_ts: str | None) -> str:
        token = uuid.uuid4().hex
        now = self._clock()
        self._open[token] = Answerable(channel=channel, ts=ts, user=user, thread_ts=thread_ts, made_at=now)
        return token

    def use(self, token: str) -> Answerable:
        """Raises Refusal used_url, expired_url."""
        found = self._open.get(token)
        if found is None or self._clock() - found.made_at > limits.RESPONSE_URL_LIFE_S:
            raise Refusal("expired_url")
        if found.used >= limits.RESPONSE_URL_USES:
            raise Refusal("used_url")
        found.used += 1
        return found
