"""The Host port over an agent, whatever the way to it."""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bot.adapters.hosts.channel import AgentChannel
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.pipe import Link
from bot.adapters.hosts.settings import HostSettings
from bot.errors import HostUnreachable, LaunchFailed
from runner.protocol.errors import ProtocolError
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import AttemptView, HostView, PollAsk, host_view_from_json
from runner.protocol.wire import Message

SLOW_LANES = 4  # channels for launches, kills and files, besides the one for polls
BROKEN_BEFORE_S = 1.0  # a standing channel that fails so soon was broken before we asked: worth a new one at once
SLOWEST_BYTES_S = 100_000
_NO_FILE = ("enoent", "enotdir", "enametoolong", "eacces", "eperm", "not-a-file")


class AgentHost:
    """One machine. Safe to call from several threads: polls keep their own channel, whatever else takes long."""

    def __init__(self, name: str, link: Link, settings: HostSettings) -> None:
        self.name = name
        self.settings = settings
        self._link = link
        self._lanes = threading.BoundedSemaphore(SLOW_LANES)
        self._polling = threading.Lock()
        self._poll_channel: AgentChannel | None = None

    def launch(self, spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        ask = {"op": "launch", "spec": spec.to_json(), "secrets": dict(secrets), "env": dict(self.settings.env)}
        header = self._ask(ask, b"", Deadline(self.settings.launch_s)).header
        if header.get("error") == "protocol":
            raise ProtocolError(f"{self.name}: {header['message']}")
        if "error" in header:
            raise LaunchFailed(self.name, header["message"], header["error"])
        return self._attempt(header)

    def poll(self, asks: Sequence[PollAsk]) -> HostView:
        deadline = Deadline(self.settings.call_s)
        message = self._poll({"op": "poll", "asks": [asdict(each) for each in asks]}, deadline)
        if message.header.get("error", "protocol") != "protocol":  # its disk fails it: nothing is known
            raise HostUnreachable(self.name, message.header["message"])
        self._check(message)
        return host_view_from_json(message.header, message.body)

    def kill(self, attempt: str, token: str, grace_s: float) -> AttemptView:
        ask = {"op": "kill", "attempt": attempt, "token": token, "grace_s": grace_s}
        message = self._ask(ask, b"", Deadline(self.settings.launch_s + grace_s))
        self._check(message)
        return self._attempt(message.header)

    def ship(self, archive: bytes, digest: str) -> None:
        with self._lane(Deadline(self.settings.launch_s + len(archive) / SLOWEST_BYTES_S)) as (channel, deadline):
            message = channel.call({"op": "ship", "digest": digest}, b"", deadline)
            self._check(message)
            if not message.header["there"]:
                self._check(channel.call({"op": "ship", "digest": digest}, archive, deadline))

    def fetch(self, path: str, max_bytes: int) -> bytes:
        deadline = Deadline(self.settings.launch_s + max_bytes / SLOWEST_BYTES_S)
        message = self._ask({"op": "fetch", "path": path, "max_bytes": max_bytes}, b"", deadline)
        if message.header.get("error") in _NO_FILE:
            raise FileNotFoundError(f"{self.name}: {message.header['message']}")
        self._check(message)
        return message.body

    def gc(self, keep: Sequence[str]) -> list[str]:
        """Remove shipped code that neither a live attempt nor anybody in `keep` uses; returns the digests removed."""
        message = self._ask({"op": "gc", "keep": list(keep)}, b"", Deadline(self.settings.launch_s))
        self._check(message)
        return list(message.header["removed"])

    def close(self) -> None:
        channel = self._poll_channel
        if channel is not None:
            channel.close()
        self._link.close()

    def _poll(self, ask: Mapping[str, Any], deadline: Deadline) -> Message:
        """By the standing channel, which is opened anew when it broke or has carried much."""
        if not self._polling.acquire(timeout=deadline.left_s()):
            raise HostUnreachable(self.name, "an earlier poll has not come back")
        try:
            channel = self._poll_channel
            if channel is not None and not channel.closed:
                try:
                    return self._use(channel, ask, deadline)
                except HostUnreachable:
                    if deadline.spent_s() > BROKEN_BEFORE_S:
                        raise
            channel = self._poll_channel = AgentChannel.open(self.name, self._link, self.settings, deadline)
            return self._use(channel, ask, deadline)
        finally:
            self._polling.release()

    @staticmethod
    def _use(channel: AgentChannel, ask: Mapping[str, Any], deadline: Deadline) -> Message:
        message = channel.call(ask, b"", deadline)
        if channel.pipe.worn:
            channel.close()
        return message

    def _ask(self, ask: Mapping[str, Any], body: bytes, deadline: Deadline) -> Message:
        with self._lane(deadline) as (channel, _):
            return channel.call(ask, body, deadline)

    @contextlib.contextmanager
    def _lane(self, deadline: Deadline) -> Iterator[tuple[AgentChannel, Deadline]]:
        """An agent of its own for something that may take long."""
        if not self._lanes.acquire(timeout=deadline.left_s()):
            raise HostUnreachable(self.name, f"{SLOW_LANES} earlier calls have not come back")
        try:
            channel = AgentChannel.open(self.name, self._link, self.settings, deadline)
            try:
                yield channel, deadline
            finally:
                channel.close()
        finally:
            self._lanes.release()

    def _check(self, message: Message) -> None:
        """Raises for an answer that is an error: what the host's file system refused, or a misunderstanding."""
        kind = message.header.get("error")
        if kind in (None, "protocol"):
            if kind is not None:
                raise ProtocolError(f"{self.name}: {message.header['message']}")
            return
        raise LaunchFailed(self.name, message.header["message"], kind)

    def _attempt(self, header: Mapping[str, Any]) -> AttemptView:
        try:
            body = dict(header["attempt"])
            body.pop("log_bytes", None)
            return AttemptView(**body)
        except (KeyError, TypeError) as error:
            raise ProtocolError(f"{self.name}: an attempt does not fit: {error!r}") from error
