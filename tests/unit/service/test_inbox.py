"""Events are handed out in the order they came, and none that is odd holds up the others."""

import logging
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest

from bot.core.inbound import InboundEvent
from bot.service.inbox import Inbox


class Asked:
    """A store with these messages pending, and orders that note whom they handle."""

    def __init__(self, *texts: str) -> None:
        self.events = {
            number: InboundEvent(
                kind="message", team="T", channel="C1", channel_type="channel", user="U", ts=f"{number}.0",
                event_ts=f"{number}.0", text=text,
            )
            for number, text in enumerate(texts, 1)
        }  # fmt: skip
        self.early: list[frozenset[str]] = []
        self.handled: list[str] = []
        store = SimpleNamespace(pending_events=self.pending, is_pending=lambda event_id: event_id in self.events)
        desk: Any = SimpleNamespace(store=store, clock=SimpleNamespace(monotonic_s=lambda: 0.0))
        orders: Any = self
        self.inbox = Inbox(desk, orders, lambda: None)
        self.inbox._crew = SimpleNamespace(submit=lambda call, *args: call(*args))  # type: ignore[assignment]

    def pending(self) -> list[tuple[int, dict[str, Any]]]:
        return [(number, asdict(event)) for number, event in self.events.items()]

    def opening(self, event: InboundEvent) -> frozenset[str]:
        return self.early.pop(0) if self.early else frozenset()

    def runs_of(self, event_id: int, event: InboundEvent) -> frozenset[str]:
        if event.text == "odd":
            raise ValueError("cannot be read")
        return frozenset({"r1"})

    def handle(self, event_id: int, event: InboundEvent) -> None:
        if event.text == "odd":
            raise ValueError("cannot be read")
        self.handled.append(event.text)
        del self.events[event_id]

    def apologise(self, event_id: int, event: InboundEvent, error: Exception) -> None:
        self.handled.append("sorry")
        del self.events[event_id]

    def drain(self) -> list[str]:
        self.inbox.drain()
        return self.handled


def test_what_waits_for_its_thread_is_not_overtaken_by_what_came_after_it() -> None:
    asked = Asked("go", "hold")
    asked.early = [frozenset({"r1"})]  # the thread becomes known between the two looks
    assert asked.drain() == []
    assert asked.drain() == ["go"]
    assert asked.drain() == ["go", "hold"]


def test_an_event_that_cannot_be_read_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    asked = Asked("odd", "go")
    with caplog.at_level(logging.CRITICAL):
        assert sorted(asked.drain()) == ["go", "sorry"]
