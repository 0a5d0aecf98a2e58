"""The Host port over an agent, whatever the way to it."""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bot.adapters.hosts.channels import Channels
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.pipe import Link
from bot.adapters.hosts.settings import HostSettings
from bot.errors import HostUnreachable, LaunchFailed
from runner.protocol.errors import ProtocolError
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import AttemptView, HostView, PollAsk, host_view_from_json
from runner.protocol.wire import Message

SLOW_LANES = 4  # launches, kills and files at once; polls never wait for them
SLOWEST_BYTES_S = 100_000
_NO_FILE = ("enoent", "enotdir", "enametoolong", "eacces", "eperm", "not-a-file")


class AgentHost:
    """One machine. Safe to call from several threads."""

    def __init__(self, name: str, link: Link, settings: HostSettings) -> None:
        self.name = name
        self.settings = settings
        self.channels = Channels(name, link, settings)
        self._polling = threading.BoundedSemaphore(1)
        self._slow = threading.BoundedSemaphore(SLOW_LANES)

    def launch(self, spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        ask = {"op": "launch", "spec": spec.to_json(), "secrets": dict(secrets), "env": dict(self.settings.env)}
        return self._attempt(self._ask(ask, Deadline(self.settings.launch_s)))

    def poll(self, asks: Sequence[PollAsk]) -> HostView:
        deadline = Deadline(self.settings.call_s)
        with self._lane(self._polling, deadline):
            message = self.channels.call({"op": "poll", "asks": [asdict(each) for each in asks]}, b"", deadline)
        if message.header.get("error", "protocol") != "protocol":  # its disk fails it: nothing is known
            raise HostUnreachable(self.name, message.header["message"])
        return host_view_from_json(self._checked(message).header, message.body)

    def kill(self, attempt: str, token: str, grace_s: float) -> AttemptView:
        ask = {"op": "kill", "attempt": attempt, "token": token, "grace_s": grace_s}
        return self._attempt(self._ask(ask, Deadline(self.settings.launch_s + grace_s)))

    def ship(self, archive: bytes, digest: str) -> None:
        deadline = Deadline(self.settings.launch_s + len(archive) / SLOWEST_BYTES_S)
        if not self._ask({"op": "ship", "digest": digest}, deadline).header["there"]:
            self._ask({"op": "ship", "digest": digest}, deadline, archive)

    def fetch(self, path: str, max_bytes: int) -> bytes:
        deadline = Deadline(self.settings.launch_s + max_bytes / SLOWEST_BYTES_S)
        try:
            return self._ask({"op": "fetch", "path": path, "max_bytes": max_bytes}, deadline).body
        except LaunchFailed as error:
            if error.kind in _NO_FILE:
                raise FileNotFoundError(str(error)) from error
            raise

    def inspect(self, *, path: str = "", pid: int = 0) -> dict[str, Any]:
        ask = {"op": "inspect", "path": path, "pid": pid}
        return dict(self._ask(ask, Deadline(self.settings.launch_s)).header["found"])

    def adopt(self, spec: AttemptSpec, process: Mapping[str, Any]) -> AttemptView:
        ask = {"op": "adopt", "spec": spec.to_json(), "process": dict(process)}
        return self._attempt(self._ask(ask, Deadline(self.settings.launch_s)))

    def usage(self, paths: Sequence[str], others: Mapping[str, str]) -> list[dict[str, Any]]:
        ask = {"op": "usage", "paths": list(paths), "others": dict(others)}
        return list(self._ask(ask, Deadline(self.settings.launch_s)).header["found"])

    def remove(self, paths: Sequence[str], others: Mapping[str, str]) -> list[str]:
        ask = {"op": "remove", "paths": list(paths), "others": dict(others)}
        return list(self._ask(ask, Deadline(self.settings.launch_s)).header["removed"])

    def gc(self, keep: Sequence[str]) -> list[str]:
        """Remove shipped code that neither a live attempt nor anybody in `keep` uses; returns the digests removed."""
        return list(self._ask({"op": "gc", "keep": list(keep)}, Deadline(self.settings.launch_s)).header["removed"])

    def close(self) -> None:
        self.channels.close()

    def _ask(self, ask: Mapping[str, Any], deadline: Deadline, body: bytes = b"") -> Message:
        with self._lane(self._slow, deadline):
            return self._checked(self.channels.call(ask, body, deadline))

    @contextlib.contextmanager
    def _lane(self, lane: threading.BoundedSemaphore, deadline: Deadline) -> Iterator[None]:
        if not lane.acquire(timeout=deadline.left_s()):
            raise HostUnreachable(self.name, "earlier calls have not come back")
        try:
            yield
        finally:
            lane.release()

    def _checked(self, message: Message) -> Message:
        """The message, unless it is an error: a misunderstanding, or what the host refused."""
        kind = message.header.get("error")
        if kind is None:
            return message
        text = message.header.get("message", "")
        if kind == "protocol":
            raise ProtocolError(f"{self.name}: {text}")
        raise LaunchFailed(self.name, text, kind)

    def _attempt(self, message: Message) -> AttemptView:
        try:
            body = dict(message.header["attempt"])
            body.pop("log_bytes", None)
            return AttemptView(**body)
        except (KeyError, TypeError) as error:
            raise ProtocolError(f"{self.name}: an attempt does not fit: {error!r}") from error
