"""One answered request: the raw material of every figure, a line of `requests.jsonl`."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.protocol.errors import DataError

BASELINE = "baseline"
DRAFTED = "drafted"
SIDES = (BASELINE, DRAFTED)


@dataclass(frozen=True, kw_only=True)
class Record:
    """Times in seconds on one monotonic clock of the benchmark, taken by the client."""

    side: str
    round: int
    concurrency: int
    prompt: str
    prompt_tokens: int
    output_ids: list[int]
    completion_tokens: int  # as the server counts
    finish: str  # "stop" or "length"
    started_s: float
    ended_s: float
    verify_steps: int = 0  # target passes that verified drafts; 0: none was drafted
    accepted_drafts: int = 0
    accepted_histogram: list[int] | None = None  # [n] = verifications that accepted n drafts

    @property
    def latency_s(self) -> float:
        return self.ended_s - self.started_s


class RecordFile:
    """Appends records, so that a stopped benchmark leaves what it has measured. A context manager."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def append(self, records: Iterable[Record]) -> None:
        for record in records:
            self._file.write(json.dumps(asdict(record), separators=(",", ":")) + "\n")
        self._file.flush()

    def __enter__(self) -> "RecordFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def read_records(path: Path) -> list[Record]:
    """All records of a `requests.jsonl`. Raises DataError, naming the line."""
    return list(_read(path))


def _read(path: Path) -> Iterator[Record]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not readable ({error})") from error
    for number, line in enumerate(lines, 1):
        try:
            value: dict[str, Any] = json.loads(line)
            yield Record(**value)
        except (ValueError, TypeError) as error:
            raise DataError(f"{path}, line {number}: no record ({error})") from error
