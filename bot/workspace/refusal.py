"""What the workspace answers when it refuses a call, in Slack's own error strings."""

from typing import Any

Json = dict[str, Any]


class Refusal(Exception):
    """`{"ok": false, "error": error}`; `messages` become `errors` and `response_metadata.messages`."""

    def __init__(self, error: str, messages: list[str] | None = None, **extra: Any) -> None:
        super().__init__(error)
        self.error = error
        self.messages = messages or []
        self.extra = extra

    def body(self) -> Json:
        body: Json = {"ok": False, "error": self.error, **self.extra}
        if self.messages:
            body["errors"] = self.messages
            body["response_metadata"] = {"messages": [f"[ERROR] {m}" for m in self.messages]}
        return body
