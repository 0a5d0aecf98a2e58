"""Records that a full disk cannot prevent: their space is taken beforehand, and filled and renamed in their time."""

import json
import os
from typing import Any, Dict

from runner.protocol import VERSION

RESERVED_BYTES = 4096


def take(path: str, size: int = RESERVED_BYTES) -> None:
    """Raises OSError when there is no space."""
    with open(path, "wb") as file:
        file.write(b" " * size)
        file.flush()
        os.fsync(file.fileno())


def fill(path: str, record: Dict[str, Any]) -> None:
    """Write a record of the contract over the reserved space. Raises OSError, FileNotFoundError when it is used up."""
    body = json.dumps(dict(record, version=VERSION)).encode("ascii")
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(handle, body.ljust(RESERVED_BYTES - 1) + b"\n", 0)
        os.fsync(handle)
    finally:
        os.close(handle)
