"""A fresh workspace for each test, and the bot's own adapters against it over real HTTP and a real WebSocket."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bot.adapters.slack.call import Caller
from bot.adapters.slack.listeners import SlackListener, open_app
from bot.adapters.slack.poster import SlackPoster
from bot.adapters.slack.web import open_client
from bot.core.inbound import InboundEvent
from bot.workspace import APP_TOKEN, BOT_TOKEN, ControlClient, running_workspace


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def control() -> Iterator[ControlClient]:
    with running_workspace(ack_timeout_s=5.0, retry_delays_s=(0.0, 0.05, 0.05)) as control:
        yield control


@pytest.fixture
def call(control: ControlClient) -> Caller:
    return Caller(open_client(BOT_TOKEN, control.api_url))


@pytest.fixture
def poster(call: Caller) -> SlackPoster:
    return SlackPoster(call)


class Store:
    """A sink as the bot's: keeps one event a claim key. `fails` makes the next calls raise, as a locked database."""

    def __init__(self) -> None:
        self.events: list[InboundEvent] = []
        self.deliveries = 0
        self.fails = 0
        self.slow_texts: dict[str, float] = {}  # seconds that storing a text takes
        self._changed = threading.Condition()

    def __call__(self, event: InboundEvent) -> None:
        time.sleep(self.slow_texts.get(event.text, 0.0))
        with self._changed:
            self.deliveries += 1
            self._changed.notify_all()
            if self.fails:
                self.fails -= 1
                raise RuntimeError("database is locked")
            if all(event.claim_key != known.claim_key for known in self.events):
                self.events.append(event)

    def wait(self, found: Callable[[], bool], timeout_s: float = 20.0) -> None:
        with self._changed:
            if not self._changed.wait_for(found, timeout_s):
                raise TimeoutError(f"{self.deliveries} deliveries: {[(e.kind, e.text) for e in self.events]}")

    def wait_for(self, count: int) -> list[InboundEvent]:
        self.wait(lambda: len(self.events) >= count)
        return self.events


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def listener(control: ControlClient, store: Store) -> Iterator[SlackListener]:
    listener = open_app(BOT_TOKEN, APP_TOKEN, control.api_url, store)
    listener.start()
    try:
        control.wait_connected()
        yield listener
    finally:
        listener.stop()
