"""The agents of one host: one a call at a time, kept for the next call."""

import threading
import time
from collections.abc import Mapping
from typing import Any

from bot.adapters.hosts.channel import AgentChannel
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.pipe import Link
from bot.adapters.hosts.settings import HostSettings
from bot.errors import HostUnreachable
from runner.protocol.wire import Message

KEPT = 2
BROKEN_BEFORE_S = 1.0  # a kept channel that fails so soon was broken before we asked: worth a new one at once


class Channels:
    """Safe to call from several threads; every request of the protocol may be repeated."""

    def __init__(self, host: str, link: Link, settings: HostSettings) -> None:
        self.host = host
        self.link = link
        self.settings = settings
        self.idle: list[AgentChannel] = []
        self._lock = threading.Lock()
        self._closed = False

    def call(self, ask: Mapping[str, Any], body: bytes, deadline: Deadline) -> Message:
        """Raises HostError and ProtocolError."""
        kept = self._take()
        began_s = time.monotonic()
        if kept is not None:
            try:
                return self._use(kept, ask, body, deadline)
            except HostUnreachable:
                if time.monotonic() - began_s > BROKEN_BEFORE_S:
                    raise
        channel = AgentChannel.open(self.host, self.link, self.settings, deadline)
        return self._use(channel, ask, body, deadline)

    def _use(self, channel: AgentChannel, ask: Mapping[str, Any], body: bytes, deadline: Deadline) -> Message:
        message = channel.call(ask, body, deadline)
        with self._lock:
            keep = not self._closed and not channel.pipe.worn and len(self.idle) < KEPT
            if keep:
                self.idle.append(channel)
        if not keep:
            channel.close()
        return message

    def _take(self) -> AgentChannel | None:
        with self._lock:
            return self.idle.pop() if self.idle else None

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self.idle = self.idle, []
        for channel in idle:
            channel.close()
        self.link.close()
