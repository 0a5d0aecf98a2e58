"""JSON files that are either whole or absent."""

import errno
import json
import os
from typing import Any, Dict

from runner.protocol import VERSION
from runner.protocol.errors import DiskFull, ProtocolError


def write_json(path: str, value: Dict[str, Any]) -> None:
    """Write `value` with the contract's version under `path`: temp file, fsync, `os.replace`.

    Raises DiskFull when there is no space; `path` then still holds what it held before.
    """
    body = json.dumps(dict(value, version=VERSION), ensure_ascii=False, separators=(",", ":"))
    write_bytes(path, body.encode("utf-8") + b"\n")


def write_bytes(path: str, body: bytes) -> None:
    """Write `body` under `path` by temp file, fsync and `os.replace`. Raises DiskFull."""
    folder = os.path.dirname(os.path.abspath(path))
    temp = os.path.join(folder, ".tmp-%d-%s" % (os.getpid(), os.urandom(6).hex()))
    try:
        handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temp, path)
    except OSError as error:
        if os.path.exists(temp):
            os.unlink(temp)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull("no space left writing %s" % path, "free space on that disk, then retry") from error
        raise


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError:
        pass  # some network file systems refuse it, and have no other way
    finally:
        os.close(handle)


def read_json(path: str) -> Dict[str, Any]:
    """Read an object of the contract. Raises ProtocolError when it is no such object, FileNotFoundError when absent."""
    with open(path, "rb") as file:
        body = file.read()
    return parse_json(body, path)


def parse_json(body: bytes, name: str) -> Dict[str, Any]:
    """Parse one object of the contract. Raises ProtocolError."""
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError("%s is not JSON: %s" % (name, error)) from error
    if not isinstance(value, dict):
        raise ProtocolError("%s holds no object" % name)
    if value.get("version") != VERSION:
        raise ProtocolError("%s has version %r, this code reads %d" % (name, value.get("version"), VERSION))
    return value
