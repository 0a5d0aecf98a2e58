"""A local process as a pipe: the agent itself, or an `ssh` that leads to it."""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

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
        for handle in (self.stdin.fileno(), self.stdout.fileno()):
            os.set_blocking(handle, False)

    def send(self, data: bytes, deadline: Deadline) -> None:
        rest = memoryview(data)
        while rest:
            handle = self._wait(self.stdin, select.POLLOUT, deadline)
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(handle, rest[:_PIECE]) :]

    def receive(self, deadline: Deadline) -> bytes:
        while True:
            handle = self._wait(self.stdout, select.POLLIN, deadline)
            with contextlib.suppress(BlockingIOError):
                return os.read(handle, _PIECE)

    @staticmethod
    def _wait(file: IO[bytes], event: int, deadline: Deadline) -> int:
        """Until the file's handle, which is returned, can be used. Raises TimeoutError, ConnectionError."""
        poll = select.poll()
        while True:
            if file.closed:
                raise ConnectionError("closed by ourselves")
            poll.register(file.fileno(), event)
            if poll.poll(deadline.left_s() * 1000):
                return file.fileno()

    def close(self) -> None:
        self.stdin.close()
        self.stdout.close()
        try:
            self.process.wait(0.05)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: Popen reaps it later
                self.process.wait(_END_S)
