"""A connection with several users, and a command's channel on it."""

import contextlib
import threading
from typing import Any

from bot.adapters.hosts.connection import BROKEN, Connection
from bot.adapters.hosts.deadline import Deadline

# paramiko asks for new keys after 512 MiB, which can deadlock with a channel that is closing.
RECYCLE_BYTES = 256 << 20
PIECE_BYTES = 1 << 18
SURE_TO_FIT_BYTES = 16 << 10  # what window and socket take, whatever the other side does
CLOSE_S = 2.0


class Shared:
    """Closed once it is retired and nobody uses it any more."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.carried_bytes = 0
        self._users = 0
        self._retired = False
        self._lock = threading.Lock()

    @property
    def worn(self) -> bool:
        return self.carried_bytes >= RECYCLE_BYTES

    @property
    def usable(self) -> bool:
        return not self._retired and not self.worn and self.connection.alive

    def hold(self) -> None:
        with self._lock:
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            over = self._retired and self._users == 0
        if over:
            self.connection.close()

    def retire(self) -> None:
        """Nobody new is let in; those who are there may finish."""
        with self._lock:
            self._retired = True
            over = self._users == 0
        if over:
            self.connection.close()


class ChannelPipe:
    """A command's standard input and output. Counts what it carries against the life of the connection."""

    def __init__(self, channel: Any, shared: Shared) -> None:
        self.channel = channel
        self.shared = shared
        self._open = True

    @property
    def worn(self) -> bool:
        return self.shared.worn

    def send(self, data: bytes, deadline: Deadline) -> None:
        if len(data) <= SURE_TO_FIT_BYTES:
            self._send(data, deadline)
            return
        with deadline.enforced(self.shared.connection.stream.close):  # paramiko's writes know no deadline
            self._send(data, deadline)

    def _send(self, data: bytes, deadline: Deadline) -> None:
        rest = memoryview(data)
        while rest:
            with self._translated(deadline):
                sent = self.channel.send(bytes(rest[:PIECE_BYTES]))
            if sent == 0:
                raise ConnectionError("the channel was closed")
            self.shared.carried_bytes += sent
            rest = rest[sent:]

    def receive(self, deadline: Deadline) -> bytes:
        with self._translated(deadline):
            data: bytes = self.channel.recv(PIECE_BYTES)
        self.shared.carried_bytes += len(data)
        if not data and not self.shared.connection.alive:
            raise ConnectionError("the connection broke")
        return data

    @contextlib.contextmanager
    def _translated(self, deadline: Deadline) -> Any:
        try:
            self.channel.settimeout(deadline.left_s())
            yield
        except TimeoutError:
            self.shared.retire()  # a connection that has kept silent is not trusted with the next call
            raise TimeoutError(f"no answer within {deadline.seconds:.0f} s") from None
        except BROKEN as error:
            raise ConnectionError(f"the connection broke: {error or type(error).__name__}") from error

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(*BROKEN), Deadline(CLOSE_S).enforced(self.shared.connection.stream.close):
            self.channel.close()
        self.shared.release()
