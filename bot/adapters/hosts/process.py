"""A local process as a pipe: the agent itself, or an `ssh` that leads to it."""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence

from bot.adapters.hosts.deadline import Deadline

_PIECE = 1 << 20
_END_S = 2.0


class ProcessPipe:
    """The process is ended with the pipe. It leads its own process group, so that Ctrl-C does not reach it."""

    worn = False

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        os.set_blocking(self.stdin.fileno(), False)
        os.set_blocking(self.stdout.fileno(), False)

    def send(self, data: bytes, deadline: Deadline) -> None:
        rest = memoryview(data)
        while rest:
            self._wait(self.stdin.fileno(), select.POLLOUT, deadline)
            try:
                rest = rest[os.write(self.stdin.fileno(), rest[:_PIECE]) :]
            except BlockingIOError:
                continue

    def receive(self, deadline: Deadline) -> bytes:
        while True:
            self._wait(self.stdout.fileno(), select.POLLIN, deadline)
            try:
                return os.read(self.stdout.fileno(), _PIECE)
            except BlockingIOError:
                continue

    @staticmethod
    def _wait(handle: int, event: int, deadline: Deadline) -> None:
        poll = select.poll()
        poll.register(handle, event)
        while not poll.poll(deadline.left_s() * 1000):
            pass

    def close(self) -> None:
        self.stdin.close()
        self.stdout.close()
        try:
            self.process.wait(0.05)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: Popen reaps it later
                self.process.wait(_END_S)
