"""A file that grows by whole JSON lines, and may be cut short at any moment."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any


class Journal:
    """Appends one object a line. What was appended before `flush` returned survives a crash of the machine."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def append(self, entry: Mapping[str, Any]) -> None:
        """Raises OSError. A new line is begun each time: the line before may have been cut short."""
        line = b"\n" + json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        while line:
            line = line[os.write(self._handle, line) :]

    def flush(self) -> None:
        os.fsync(self._handle)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line; lines that were cut short are passed over. Nothing when there is no file."""
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return
    for line in body.split(b"\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry
