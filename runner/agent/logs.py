"""Pieces of an attempt's log and metrics, never more than asked for."""

import json
import os
import stat
import time
from typing import Any, Dict, List, NamedTuple, Optional

from runner.protocol.logtext import clean_tail

TAIL_BYTES = 8192
TAIL_LINES = 20
TAIL_WIDTH = 400
METRIC_BYTES = 16384
METRIC_LINES = 20
SLICE_MAX = 4 << 20


class LogSlice(NamedTuple):
    """Bytes of a log from `offset - len(data)` to `offset`. `reset`: it was shorter than the asked offset."""

    data: bytes
    offset: int
    size: int
    age_s: Optional[float]
    reset: bool


NO_LOG = LogSlice(b"", 0, 0, None, False)


def read_slice(path: str, offset: Optional[int], most: int) -> LogSlice:
    """At most `most` bytes from `offset` on; None: only size and age."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return NO_LOG
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return NO_LOG
        age_s = max(0.0, time.time() - found.st_mtime)
        if offset is None:
            return LogSlice(b"", 0, found.st_size, age_s, False)
        reset = not 0 <= offset <= found.st_size
        start = 0 if reset else offset
        data = os.pread(handle, max(0, min(most, SLICE_MAX)), start)
        return LogSlice(data, start + len(data), found.st_size, age_s, reset)
    finally:
        os.close(handle)


def read_end(path: str, most: int) -> bytes:
    """The last `most` bytes of a file, b"" when there is none."""
    size = read_slice(path, None, 0).size
    return read_slice(path, max(0, size - most), most).data


def tail(path: str) -> str:
    """The log's last lines, cleaned."""
    raw = read_end(path, TAIL_BYTES)
    return clean_tail(raw, whole=len(raw) < TAIL_BYTES, lines=TAIL_LINES, width=TAIL_WIDTH)


def newest_metrics(path: str) -> List[Dict[str, Any]]:
    """The newest whole lines that hold an object."""
    raw = read_end(path, METRIC_BYTES)
    lines = raw.split(b"\n")[:-1]  # what follows the last line feed is still being written
    found = []
    for line in lines[-METRIC_LINES:]:
        try:
            value = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            continue  # the first line may be cut
        if isinstance(value, dict):
            found.append(value)
    return found
