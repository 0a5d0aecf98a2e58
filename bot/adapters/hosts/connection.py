"""One ssh connection by paramiko: host key checked first, then a key to log in with, everything by a deadline."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import paramiko

from bot.adapters.hosts import hostkeys
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.loginkeys import keys_for
from bot.adapters.hosts.sockets import Stream
from bot.adapters.hosts.sshconfig import Destination
from bot.errors import HostUnreachable

LOG_CHANNEL = "bot.hosts.paramiko"
TRIES = 5  # sshd hangs up after six wrong keys
logging.getLogger(LOG_CHANNEL).setLevel(logging.CRITICAL)  # what matters is raised; the rest are tracebacks

BROKEN = (paramiko.SSHException, EOFError, OSError)


class HungUp(ConnectionError):
    """The server closed the connection before it said what it is, as sshd does when too many knock at once."""


class Connection:
    """A transport that has logged in. `close` lets go of thread and socket, also after a failure."""

    def __init__(self, host: str, destination: Destination, stream: Stream) -> None:
        self.host = host
        self.destination = destination
        self.stream = stream
        self.transport: Any = None

    def open(self, deadline: Deadline) -> None:
        """Raises HostKeyChanged, HostUnreachable, TimeoutError, ConnectionError."""
        with self._translated(deadline):
            known = hostkeys.read(self.destination.known_hosts, self.destination.key_name)
            shown = self._greet(known.types, deadline)
            hostkeys.check(self.host, self.destination.key_name, known, shown)
            self._log_in(deadline)

    def ask_key(self, deadline: Deadline) -> Any:
        """The key that the server shows, whether it is trusted or not. Nothing is sent. Raises as `open` does."""
        with self._translated(deadline):
            return self._greet([], deadline)

    @contextlib.contextmanager
    def _translated(self, deadline: Deadline) -> Iterator[None]:
        try:
            with deadline.enforced(self.stream.close):
                yield
        except paramiko.AuthenticationException as error:
            raise HostUnreachable(self.host, f"{self.destination} refused to let us in: {error}") from error
        except BROKEN as error:
            deadline.left_s()
            kind = ConnectionError if self.transport is not None and self.transport.remote_version else HungUp
            raise kind(f"{self.destination}: {error or type(error).__name__}") from error

    def _greet(self, types: list[str], deadline: Deadline) -> Any:
        """Agree on keys for the connection; returns the host's key, of one of `types` if it has such a one."""
        self.transport = transport = paramiko.Transport(self.stream.sock)
        transport.set_log_channel(LOG_CHANNEL)
        transport.daemon = True
        transport.banner_timeout = transport.auth_timeout = deadline.left_s()
        prefer(transport, types)
        transport.start_client(timeout=deadline.left_s())
        return transport.get_remote_server_key()

    def _log_in(self, deadline: Deadline) -> None:
        refused = []
        with keys_for(self.destination) as keys:
            trouble = [f"{label}: {why}" for label, why in keys.unusable]
            for label, key in keys[:TRIES]:
                self.transport.auth_timeout = deadline.left_s()
                try:
                    more = self.transport.auth_publickey(self.destination.user, key)
                except paramiko.BadAuthenticationType as error:
                    raise paramiko.AuthenticationException(f"it wants {', '.join(error.allowed_types)}") from error
                except paramiko.AuthenticationException:
                    refused.append(label)
                    continue
                if more:
                    raise paramiko.AuthenticationException(f"it wants {', '.join(more)} besides the key {label}")
                return
        shown = f"keys shown: {', '.join(refused)}" if refused else "there is no key to show"
        raise paramiko.AuthenticationException("; ".join([shown, *trouble]))

    @property
    def alive(self) -> bool:
        return bool(self.transport is not None and self.transport.is_active())

    def open_session(self, deadline: Deadline) -> Any:
        """A channel for one command. Raises ConnectionError, TimeoutError."""
        return self._channel("session", None, deadline)

    def open_tunnel(self, hostname: str, port: int, deadline: Deadline) -> Any:
        """A channel to another host, as seen from this one. Raises ConnectionError, TimeoutError."""
        return self._channel("direct-tcpip", (hostname, port), deadline)

    def _channel(self, kind: str, to: tuple[str, int] | None, deadline: Deadline) -> Any:
        try:
            with deadline.enforced(self.stream.close):
                origin = ("127.0.0.1", 0) if to else None
                return self.transport.open_channel(kind, to, origin, timeout=deadline.left_s())
        except BROKEN as error:
            deadline.left_s()
            raise ConnectionError(f"{self.destination}: {error or type(error).__name__}") from error

    def close(self) -> None:
        self.stream.close()
        if self.transport is not None:
            with contextlib.suppress(*BROKEN):
                self.transport.close()


def prefer(transport: Any, types: list[str]) -> None:
    """Ask for a key of a type that we know, so that a host with several keys shows the trusted one."""
    options = transport.get_security_options()
    wanted = ["rsa-sha2-512", "rsa-sha2-256", *types] if "ssh-rsa" in types else types
    first = [name for name in options.key_types if name in wanted]
    options.key_types = [*first, *(name for name in options.key_types if name not in first)]
