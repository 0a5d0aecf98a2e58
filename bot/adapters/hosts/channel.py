"""The agent behind a pipe: one request, one answer, by a deadline."""

from collections.abc import Mapping
from typing import Any

from bot.adapters.hosts.bundle import bundle, command
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.pipe import Link, Pipe
from bot.adapters.hosts.settings import HostSettings
from bot.errors import ConfigError, HostError, HostUnreachable
from runner.protocol import VERSION
from runner.protocol.errors import ProtocolError
from runner.protocol.logtext import clean_tail
from runner.protocol.wire import Message, Unpacker, pack


class AgentChannel:
    """One running agent. After any error it is closed, and a new one has to be opened."""

    def __init__(self, host: str, pipe: Pipe) -> None:
        self.host = host
        self.pipe = pipe
        self.closed = False
        self._unpacker = Unpacker()
        self._last_id = 0

    @staticmethod
    def open(host: str, link: Link, settings: HostSettings, deadline: Deadline) -> "AgentChannel":
        """Start an agent. Raises HostError and ProtocolError."""
        try:
            pipe = link.open(command(settings.python), deadline)
        except (OSError, ConfigError) as error:
            raise HostUnreachable(host, f"cannot connect: {error}") from error
        channel = AgentChannel(host, pipe)
        channel.call({"op": "hello", "version": VERSION, "root": settings.root}, b"", deadline, before=bundle())
        return channel

    def call(self, ask: Mapping[str, Any], body: bytes, deadline: Deadline, before: bytes = b"") -> Message:
        """Send one request, wait for its answer. Raises HostUnreachable and ProtocolError."""
        self._last_id += 1
        try:
            self.pipe.send(before + pack({**ask, "id": self._last_id}, body), deadline)
            message = self._receive(deadline)
            if message.header.get("id") != self._last_id:
                raise ProtocolError(f"{self.host} answered another question")
            return message
        except OSError as error:
            self.close()
            raise HostUnreachable(self.host, f"{error}{self._noise()}") from error
        except (HostError, ProtocolError):
            self.close()
            raise

    def _receive(self, deadline: Deadline) -> Message:
        while True:
            message = self._unpacker.next()
            if message is not None:
                return message
            data = self.pipe.receive(deadline)
            if not data:
                raise ConnectionError("the agent ended, or could not be started")
            self._unpacker.feed(data)

    def _noise(self) -> str:
        """What the host said besides, which is mostly why it failed."""
        text = clean_tail(self._unpacker.rest(), whole=True, lines=5, width=300).strip()
        return f"; it said: {text}" if text else ""

    def close(self) -> None:
        self.closed = True
        self.pipe.close()
