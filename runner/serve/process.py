"""Start a server, wait until it answers, and leave no process of it behind."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.protocol.errors import PatchMismatch, ServerError
from runner.serve.client import is_healthy
from runner.serve.settings import ServerSettings, command, environment

_GRACE_S = 5.0
_TAIL_LINES = 12
# Lines of the log that tell a reader nothing of a failure.
_CHATTER = re.compile(r"Ignore import error|server_args=|UserWarning|warnings\.warn|^\s*$|GET /health|Prefill batch")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
REFUSAL = re.compile(r"pointsman_capture refuses: (.*)")


@dataclass(frozen=True)
class Server:
    """A running server. `url` has no slash at its end."""

    url: str
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def last_lines(self) -> str:
        """The end of its log, without what says nothing."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 65536))
                text = file.read().decode("utf-8", "replace")
        except OSError as error:
            return f"(no log: {error})"
        lines = [_ESCAPES.sub("", line)[:300] for line in text.splitlines() if not _CHATTER.search(line)]
        return "\n".join(lines[-_TAIL_LINES:])

    def death(self, what: str) -> ServerError:
        """The error for a server that died or cannot be used, with the end of its log."""
        return ServerError(f"{what} (exit code {self.process.poll()}):\n{self.last_lines()}", f"its log: {self.log}")


@contextlib.contextmanager
def serve(settings: ServerSettings, log: Path, tell: Callable[[str], None] = lambda text: None) -> Iterator[Server]:
    """Run a server inside the block. `tell` is called about once a second while it starts.

    Raises ServerError when it does not start in time or dies at it, PatchMismatch when the capture plugin refuses.
    On leaving, its whole process group is ended: by SIGTERM, then SIGKILL. Call it from the main thread only:
    the server also dies when the thread that started it does.
    """
    with launch(settings, log) as server:
        wait_until_ready(server, settings, tell)
        yield server


@contextlib.contextmanager
def launch(settings: ServerSettings, log: Path) -> Iterator[Server]:
    """Like `serve`, but the block begins at once: for servers that start side by side. See `wait_until_ready`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    with log.open("wb") as out:
        process = subprocess.Popen(
            command(settings, port),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment(settings, os.environ),
            start_new_session=True,
        )
    try:
        yield Server(f"http://127.0.0.1:{port}", log, process)
    finally:
        _end(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_ready(server: Server, settings: ServerSettings, tell: Callable[[str], None]) -> None:
    """Raises ServerError when it does not start in time or dies at it, PatchMismatch when the plugin refuses."""
    started_s = time.monotonic()
    told_s = -1.0
    while not is_healthy(server.url):
        waited_s = time.monotonic() - started_s
        if not server.is_alive:
            refusal = REFUSAL.search(server.log.read_text("utf-8", "replace"))
            if refusal:
                raise PatchMismatch(refusal.group(1), f"the server's log: {server.log}")
            raise server.death("the server died while starting")
        if waited_s > settings.start_timeout_s:
            raise server.death(f"the server did not answer within {settings.start_timeout_s:.0f} s")
        if waited_s - told_s >= 1.0:
            told_s = waited_s
            tell(f"starting SGLang with {settings.model.name}: {waited_s:.0f} s")
        time.sleep(0.2)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the group. The first process may be gone already: its children are still in the group."""
    for number, wait_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _GRACE_S)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        until_s = time.monotonic() + wait_s
        while time.monotonic() < until_s and _group_lives(process):
            time.sleep(0.05)
        if not _group_lives(process):
            return


def _group_lives(process: "subprocess.Popen[bytes]") -> bool:
    process.poll()  # reap, or the leader stays as a zombie of its group
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True
