"""One Web API call: never repeated by itself, never before a Retry-After is over, failures translated."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse

from bot.adapters.slack.web import FAILURES, translate
from bot.errors import ChatUnavailable


class Caller:
    """Calls for any number of threads. Nothing here sleeps: who calls too early is told how long to wait."""

    def __init__(self, client: WebClient, now: Callable[[], float] = time.monotonic) -> None:
        self.client = client
        self._now = now
        self._quiet_until: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def write(self, method: str, **fields: Any) -> SlackResponse:
        """Raises ChatUnavailable; fields that are None are left out."""
        return self._call(method, fields, "json")

    def read(self, method: str, **fields: Any) -> SlackResponse:
        """As `write`, for the methods that take no JSON."""
        return self._call(method, fields, "params")

    def _call(self, method: str, fields: Mapping[str, Any], form: Literal["json", "params"]) -> SlackResponse:
        channel = str(fields.get("channel", ""))
        body: dict[str, Any] = {form: {name: value for name, value in fields.items() if value is not None}}
        with self._lock:
            wait_s = self._quiet_until.get((method, channel), 0.0) - self._now()
        if wait_s > 0:
            raise ChatUnavailable(f"{method}: rate limited", retry_after_s=wait_s, code="ratelimited")
        try:
            return self.client.api_call(method, **body)
        except FAILURES as error:
            trouble = translate(error, method)
            if trouble.retry_after_s is not None:
                with self._lock:
                    self._quiet_until[method, channel] = self._now() + trouble.retry_after_s
            raise trouble from error
