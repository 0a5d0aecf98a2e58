"""One Web API call: never repeated by itself, never before its method may be called, failures translated."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse

from bot.adapters.slack.quiet import Quiet
from bot.adapters.slack.web import FAILURES, translate
from bot.errors import ChatUnavailable

_WORDS: Final = ("text", "blocks", "cursor")


class Caller:
    """Calls for any number of threads. Nothing here sleeps: who calls too early is told how long to wait."""

    def __init__(self, client: WebClient, now: Callable[[], float] = time.monotonic) -> None:
        self.client = client
        self._quiet = Quiet(now)

    def write(self, method: str, **fields: Any) -> SlackResponse:
        """Raises ChatUnavailable; fields that are None are left out."""
        return self._call(method, fields, "json")

    def read(self, method: str, **fields: Any) -> SlackResponse:
        """As `write`, for the methods that take no JSON."""
        return self._call(method, fields, "params")

    def _call(self, method: str, fields: Mapping[str, Any], form: Literal["json", "params"]) -> SlackResponse:
        body: dict[str, Any] = {form: {name: value for name, value in fields.items() if value is not None}}
        self._quiet.check(method)
        try:
            answer = self.client.api_call(method, **body)
        except FAILURES as error:
            trouble = translate(error, method)
            self._note(method, fields, trouble)
            raise trouble from error
        self._quiet.answered(method)
        return answer

    def _note(self, method: str, fields: Mapping[str, Any], trouble: ChatUnavailable) -> None:
        if trouble.retry_after_s is not None:
            self._quiet.limited(method, trouble.retry_after_s)
        elif trouble.code:
            self._quiet.answered(method)
        elif not trouble.whole:
            about = {name: value for name, value in fields.items() if name not in _WORDS}
            self._quiet.unanswered(method, repr(about))
