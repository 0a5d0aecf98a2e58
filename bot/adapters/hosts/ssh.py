"""A host by paramiko: one connection for all its channels, replaced when it breaks or has carried much."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable

from bot.adapters.hosts.connection import BROKEN, Connection, HungUp
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.route import dial
from bot.adapters.hosts.settings import HostSettings
from bot.adapters.hosts.shared import ChannelPipe, Shared
from bot.adapters.hosts.sockets import Stream
from bot.adapters.hosts.sshconfig import Destination, resolve

CONNECTIONS = 8  # at once to one server: its MaxStartups is there for others too
TRIES = 5

Dialer = Callable[[Deadline], Stream]
Route = Callable[[], tuple[Destination, Dialer]]

_doors: dict[str, threading.BoundedSemaphore] = defaultdict(lambda: threading.BoundedSemaphore(CONNECTIONS))


class SshLink:
    """`route` is asked at each connection: where a host is, and how to get a stream to it."""

    def __init__(self, host: str, route: Route) -> None:
        self.host = host
        self._route = route
        self._lock = threading.Lock()
        self._shared: Shared | None = None
        self._closed = False

    @staticmethod
    def to(host: str, settings: HostSettings) -> "SshLink":
        def route() -> tuple[Destination, Dialer]:
            destination = resolve(settings)
            return destination, lambda deadline: dial(host, destination, deadline)

        return SshLink(host, route)

    def open(self, command: str, deadline: Deadline) -> ChannelPipe:
        shared = self._hold(deadline)
        try:
            channel = shared.connection.open_session(deadline)
            channel.set_combine_stderr(True)
            with deadline.enforced(shared.connection.stream.close):  # waits for the answer without a deadline
                channel.exec_command(command)
        except BROKEN as error:
            shared.retire()
            shared.release()
            deadline.left_s()
            raise ConnectionError(f"the command was not accepted: {error or type(error).__name__}") from error
        return ChannelPipe(channel, shared)

    def _hold(self, deadline: Deadline) -> Shared:
        """The standing connection, with one more user; a new one where there is none to be used."""
        if not self._lock.acquire(timeout=deadline.left_s()):
            raise TimeoutError("another call is still connecting")
        try:
            if self._closed:
                raise ConnectionError("closed by ourselves")
            if self._shared is None or not self._shared.usable:
                if self._shared is not None:
                    self._shared.retire()
                    self._shared = None
                destination, dialer = self._route()
                self._shared = Shared(connect(self.host, destination, dialer, deadline))
            self._shared.hold()
            return self._shared
        finally:
            self._lock.release()

    def close(self) -> None:
        self._closed = True
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.connection.close()


def connect(host: str, destination: Destination, dialer: Dialer, deadline: Deadline) -> Connection:
    """A connection that has logged in. Raises HostError, TimeoutError, ConnectionError."""
    door = _doors[destination.key_name]
    if not door.acquire(timeout=deadline.left_s()):
        raise TimeoutError(f"{CONNECTIONS} connections to {destination} are open already")
    try:
        connection = knock(host, destination, dialer, deadline)
    except BaseException:
        door.release()
        raise
    connection.stream.also(door.release)
    return connection


def knock(host: str, destination: Destination, dialer: Dialer, deadline: Deadline) -> Connection:
    """Try again, at odd moments, when the server hangs up at the door."""
    for attempt in range(TRIES):
        connection = Connection(host, destination, dialer(deadline))
        try:
            connection.open(deadline)
            return connection
        except HungUp:
            connection.close()
            if attempt == TRIES - 1:
                raise
        except BaseException:
            connection.close()
            raise
        time.sleep(min(random.uniform(0.05, 0.2) * 2**attempt, deadline.left_s()))
    raise AssertionError("unreachable")
