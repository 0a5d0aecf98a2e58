"""A fresh workspace for each test, and a real Bolt app that writes down what it is sent."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

from bot.workspace import APP_TOKEN, BOT_TOKEN, ControlClient, running_workspace


@pytest.fixture
def control() -> Iterator[ControlClient]:
    with running_workspace(ack_timeout_s=10.0, retry_delays_s=(0.0, 0.05, 0.05)) as control:
        yield control


@pytest.fixture
def web(control: ControlClient) -> WebClient:
    return WebClient(BOT_TOKEN, base_url=control.api_url, retry_handlers=[])


class Recorder:
    """A Bolt app over Socket Mode: keeps every request body it acked, in order."""

    def __init__(self, control: ControlClient) -> None:
        self.control = control
        self.bodies: list[dict[str, Any]] = []
        self.retries: list[str | None] = []
        self.ignored: set[str] = set()  # texts of messages never acked, as by a listener that hangs
        self._arrived = threading.Condition()
        client = WebClient(BOT_TOKEN, base_url=control.api_url, retry_handlers=[])
        # process_before_response: the ack goes out after the listener, so a listener can withhold it
        self.app = App(client=client, process_before_response=True)
        self.app.event({"type": "message"})(self._take)
        for kind in ("app_mention", "reaction_added", "reaction_removed"):
            self.app.event(kind)(self._take)
        self.app.action({"action_id": "go"})(self._click)
        self.handler = SocketModeHandler(self.app, APP_TOKEN, ping_interval=0.3)

    def _note(self, body: dict[str, Any], retry: str | None) -> None:
        with self._arrived:
            self.bodies.append(body)
            self.retries.append(retry)
            self._arrived.notify_all()

    def _take(self, body: dict[str, Any], request: Any, event: dict[str, Any]) -> None:
        self._note(body, (request.headers.get("x-slack-retry-num") or [None])[0])
        if event.get("text") in self.ignored:
            raise RuntimeError("withheld on purpose")

    def _click(self, ack: Any, body: dict[str, Any], respond: Any) -> None:
        ack()
        self._note(body, None)
        value = body["actions"][0].get("value")
        if value == "replace":
            respond(text="started", replace_original=True)
        elif value:
            respond(text=f"not you: {value}", replace_original=False)

    def close(self) -> None:
        """As the SDK closes, but without waiting for its receive (3 s) and its queue (1 s) to time out."""
        client = self.handler.client
        client.auto_reconnect_enabled = False
        self.control.send("drop")
        client.message_processor.event.set()
        client.message_queue.put('{"type": "hello"}')
        self.handler.close()

    def events(self, kind: str = "message") -> list[dict[str, Any]]:
        return [b["event"] for b in self.bodies if b.get("event", {}).get("type") == kind]

    def wait(self, count: int, timeout_s: float = 20.0) -> list[dict[str, Any]]:
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.bodies) >= count, timeout_s):
                raise TimeoutError(f"{len(self.bodies)} of {count} arrived")
            return list(self.bodies)


@pytest.fixture
def bot(control: ControlClient) -> Iterator[Recorder]:
    recorder = Recorder(control)
    with ExitStack() as stack:
        stack.callback(recorder.app.listener_runner.listener_executor.shutdown)
        stack.callback(recorder.close)
        recorder.handler.connect()
        control.wait_connected()
        yield recorder
