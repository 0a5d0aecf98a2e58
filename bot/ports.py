"""What the service needs of the outside: hosts, a chat to post to, a store, a clock."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from bot.core.cards import Card
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import AttemptView, HostView, PollAsk


class Host(Protocol):
    """One machine that runs attempts. Every call ends within its own deadline.

    All raise HostUnreachable (no answer in time: nothing is known), HostKeyChanged (nothing was sent) and
    ProtocolError (an answer that cannot be read).
    """

    name: str

    def launch(self, spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        """Start the attempt, or report the one that this token already started. Raises LaunchFailed."""

    def poll(self, asks: Sequence[PollAsk]) -> HostView:
        """One round trip: the host's facts, and each attempt asked for with the new bytes of its log."""

    def kill(self, attempt: str, token: str, grace_s: float) -> AttemptView:
        """TERM, wait `grace_s`, KILL, sweep. The view names survivors, if there are any."""

    def ship(self, archive: bytes, digest: str) -> None:
        """Unpack a tar.gz into `{root}/code/DIGEST`, whole or not at all; nothing to do when it is there."""

    def fetch(self, path: str, max_bytes: int) -> bytes:
        """The first `max_bytes` of a file. Raises FileNotFoundError."""

    def close(self) -> None:
        """Let go of connections; attempts live on."""


class Poster(Protocol):
    """The chat. Raises ChatUnavailable when the outcome is not known and the call has to be repeated."""

    def post(self, key: str, channel: str, thread_ts: str | None, card: Card, broadcast: bool = False) -> str:
        """Post once per `key` (a repeat finds the earlier message); returns its ts."""

    def edit(self, channel: str, ts: str, card: Card) -> None:
        """Replace a message."""

    def whisper(self, channel: str, thread_ts: str | None, user: str, card: Card) -> None:
        """A message that only `user` sees."""

    def react(self, channel: str, ts: str, name: str, on: bool = True) -> None:
        """Add or take away a reaction; a repeat is no error."""

    def upload(self, key: str, channel: str, thread_ts: str | None, name: str, body: bytes, title: str) -> str:
        """Show a picture in the thread, once per `key`; returns its message's ts, "" when the chat tells none."""


class Clock(Protocol):
    """The time, as a port, so that tests hold it."""

    def now(self) -> datetime:
        """UTC, with its zone."""

    def monotonic_s(self) -> float:
        """Never set back."""
