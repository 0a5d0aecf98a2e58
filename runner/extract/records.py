"""What the capture plugin tells: what it captures, how each request went, and why it stopped."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.protocol.errors import CaptureMismatch, DataError, DiskFull, StageError


@dataclass
class Records:
    """Follows the record files of one server."""

    folder: Path
    _read: dict[Path, int] = field(default_factory=dict)  # bytes of whole lines so far

    @staticmethod
    def begin(out: Path) -> "Records":
        """Forget what an earlier server told, and what it left half written."""
        shutil.rmtree(out / "capture", ignore_errors=True)
        sweep(out)
        return Records(out / "capture")

    def new(self) -> Iterator[dict[str, Any]]:
        """Every record that was not read yet. A line that a full disk cut short is passed over."""
        for path in sorted(self.folder.glob("records-*.jsonl")):
            start = self._read.get(path, 0)
            with path.open("rb") as file:
                file.seek(start)
                body = file.read()
            whole, newline, _ = body.rpartition(b"\n")
            self._read[path] = start + len(whole) + len(newline)
            for line in whole.splitlines():
                with contextlib.suppress(ValueError):
                    yield json.loads(line)

    def check_failure(self) -> None:
        """Raises what made the plugin stop writing, if it did."""
        try:
            told = json.loads((self.folder / "failure.json").read_bytes())
        except FileNotFoundError:
            return
        message = f"the server could not write {told['message']}"
        if told["kind"] == "DiskFull":
            raise DiskFull(message, "free space on that disk, then run the same command: it resumes")
        raise StageError(message, "see the server's log")

    def engine_facts(self) -> dict[str, Any]:
        """What the loaded model said of itself. Raises DataError when it said nothing, or the ranks disagree."""
        told = [json.loads(path.read_bytes()) for path in sorted(self.folder.glob("engine-*.json"))]
        if not told:
            raise DataError("the server runs without the capture plugin", f"nothing told in {self.folder}")
        if any(facts != told[0] for facts in told):
            raise DataError("the server's ranks disagree on what they capture")
        facts: dict[str, Any] = told[0]
        return facts


def check_captured(indices: tuple[int, ...], facts: dict[str, Any]) -> None:
    """Raises CaptureMismatch when the loaded model captures other layers than asked for."""
    captured = tuple(facts["captured"])
    if captured != indices:
        raise CaptureMismatch(
            f"the loaded {facts['architecture']} captures {list(captured)}, asked for {list(indices)}",
            "SGLang's rule for this family has changed: correct the mapping of layer ids",
        )


def sweep(out: Path) -> None:
    """Remove what was half written when a process was killed."""
    for left in (*out.glob(".tmp-*"), *out.glob("samples/*/.tmp-*")):
        left.unlink(missing_ok=True)


def free_bytes(path: Path) -> int:
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize
