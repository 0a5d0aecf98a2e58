"""Byte streams to an ssh server: TCP that notices a cut link, a proxy command, a jump through other hosts."""

import contextlib
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Any

from bot.adapters.hosts.deadline import Deadline

USER_TIMEOUT_MS = 8000  # how long sent bytes may stay unacknowledged before the link counts as cut
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 5), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3))


class Stream:
    """Something that paramiko takes for a socket, and what has to be let go of with it."""

    def __init__(self, sock: Any, *ends: Callable[[], None]) -> None:
        self.sock = sock
        self._ends = list(ends)

    def also(self, end: Callable[[], None]) -> None:
        """Call `end`, once, when the stream is closed."""
        self._ends.append(end)

    def close(self) -> None:
        """May be called twice, and from another thread to wake those who wait."""
        with contextlib.suppress(OSError, EOFError):
            self.sock.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError, EOFError):
            self.sock.close()
        while self._ends:
            self._ends.pop()()


def connect_tcp(hostname: str, port: int, deadline: Deadline) -> Stream:
    """Raises TimeoutError, ConnectionError."""
    last: OSError | None = None
    for family, kind, protocol, _, address in look_up(hostname, port, deadline):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(deadline.left_s())
            sock.connect(address)
            tune(sock)
            return Stream(sock)
        except TimeoutError:
            sock.close()
            raise
        except OSError as error:
            sock.close()
            last = error
    raise ConnectionError(f"{hostname}:{port}: {last}") from last


def tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        sock.setsockopt(socket.IPPROTO_TCP, option, value)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)


def look_up(hostname: str, port: int, deadline: Deadline) -> list[Any]:
    """Addresses of a name. The resolver knows no deadline, so a name is looked up in a thread of its own."""
    with contextlib.suppress(socket.gaierror):
        return socket.getaddrinfo(hostname, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(socket.getaddrinfo(hostname, port, type=socket.SOCK_STREAM))
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=ask, name=f"look up {hostname}", daemon=True)
    thread.start()
    thread.join(deadline.left_s())
    if not found:
        raise TimeoutError(f"the name {hostname} could not be looked up within {deadline.seconds:.0f} s")
    if isinstance(found[0], OSError):
        raise ConnectionError(f"the name {hostname} is not known: {found[0]}") from found[0]
    return list(found[0])


def connect_process(argv: list[str], env: Mapping[str, str] | None = None) -> Stream:
    """A process whose standard input and output are the stream: a proxy command, or an sshd of our own."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            argv,
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
        )

    def end() -> None:
        try:
            process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    return Stream(ours, end)
