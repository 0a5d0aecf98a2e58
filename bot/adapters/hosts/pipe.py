"""The two things that differ between kinds of hosts: how a command is started, and how bytes go to and fro."""

from typing import Protocol

from bot.adapters.hosts.deadline import Deadline


class Pipe(Protocol):
    """Standard input and output (errors among it) of a command on a host.

    Both ways raise TimeoutError past the deadline, and ConnectionError once the link is broken.
    """

    @property
    def worn(self) -> bool:
        """Whether a new one should be opened for the next call, because much has gone through the link."""

    def send(self, data: bytes, deadline: Deadline) -> None:
        """All of `data`."""

    def receive(self, deadline: Deadline) -> bytes:
        """At least one byte, or b"" at the end."""

    def close(self) -> None:
        """Never blocks for long, never raises."""


class Link(Protocol):
    """A way to a host; connects when it has to."""

    def open(self, command: str, deadline: Deadline) -> Pipe:
        """Start a shell command. Raises HostError, TimeoutError, ConnectionError."""

    def close(self) -> None:
        """Let go of everything. Never raises."""
