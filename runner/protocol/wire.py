"""Messages between bot and agent: a mark, one line of JSON, then as many raw bytes as its `n` says."""

import json
from typing import Any, Dict, NamedTuple, Optional

from runner.protocol.errors import ProtocolError

# Whatever comes before a mark is skipped: shell start-up files print what they like.
MARK = b"\x01POINTSMAN1 "
HEADER_MAX = 64 << 20
BODY_MAX = 1 << 30
NOISE_KEPT = 2000


class Message(NamedTuple):
    """One request or answer."""

    header: Dict[str, Any]
    body: bytes


def pack(header: Dict[str, Any], body: bytes = b"") -> bytes:
    """One message as bytes. Text keeps lone surrogates (odd file names) as JSON escapes."""
    line = json.dumps(dict(header, n=len(body)), separators=(",", ":"))
    return MARK + line.encode("ascii") + b"\n" + body


class Unpacker:
    """Cuts a stream of bytes into messages; `noise` is the end of what was no message."""

    def __init__(self) -> None:
        self.noise = b""
        self._buffer = bytearray()
        self._header: Optional[Dict[str, Any]] = None

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Optional[Message]:
        """The next whole message, or None. Raises ProtocolError for a header that cannot be read."""
        if self._header is None:
            self._header = self._take_header()
        if self._header is None:
            return None
        size = self._header["n"]
        if len(self._buffer) < size:
            return None
        message = Message(self._header, bytes(self._buffer[:size]))
        del self._buffer[:size]
        self._header = None
        return message

    def rest(self) -> bytes:
        """The end of all that was no message, for an error's words."""
        return (self.noise + bytes(self._buffer[:NOISE_KEPT]))[-NOISE_KEPT:]

    def _take_header(self) -> Optional[Dict[str, Any]]:
        start = self._buffer.find(MARK)
        if start < 0:
            self._skip(max(0, len(self._buffer) - len(MARK) + 1))
            return None
        self._skip(start)
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > HEADER_MAX:
                raise ProtocolError("a message header is longer than %d bytes" % HEADER_MAX)
            return None
        line = bytes(self._buffer[len(MARK) : end])
        del self._buffer[: end + 1]
        return _parse(line)

    def _skip(self, size: int) -> None:
        self.noise = (self.noise + bytes(self._buffer[:size]))[-NOISE_KEPT:]
        del self._buffer[:size]


def _parse(line: bytes) -> Dict[str, Any]:
    try:
        header = json.loads(line.decode("ascii"))
        size = header["n"]
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError("a message header cannot be read: %s" % error) from error
    if not isinstance(size, int) or not 0 <= size <= BODY_MAX:
        raise ProtocolError("a message announces %r bytes" % (size,))
    return dict(header)
