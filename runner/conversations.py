"""What synth makes and extract takes: tokenised conversations, and which of their tokens are supervised."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.protocol.errors import DataError, ProtocolError
from runner.protocol.files import read_json, write_bytes, write_json

MANIFEST, TABLE = "manifest.json", "samples.jsonl"


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """`supervised` are spans [start, end) of `input_ids`: what the target itself generated, its end token included.

    `finish` says for each assistant turn how it ended: stop, length or budget.
    """

    id: str
    input_ids: tuple[int, ...]
    supervised: tuple[tuple[int, int], ...]
    finish: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        at = 0
        for start, end in self.supervised:
            if not at <= start < end <= len(self.input_ids):
                raise DataError(f"conversation {self.id}: span {start}-{end} does not fit")
            at = end

    @property
    def num_supervised(self) -> int:
        return sum(end - start for start, end in self.supervised)

    @property
    def mask_runs(self) -> list[int]:
        """The loss mask as lengths of runs, the first of zeros."""
        runs, at = [], 0
        for start, end in self.supervised:
            runs += [start - at, end - start]
            at = end
        return [*runs, len(self.input_ids) - at]

    @property
    def mask(self) -> bytes:
        """The loss mask, a byte a token."""
        return b"".join(bytes([number % 2]) * length for number, length in enumerate(self.mask_runs))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> "Conversation":
        """Raises DataError."""
        try:
            return Conversation(
                id=value["id"],
                input_ids=tuple(map(int, value["input_ids"])),
                supervised=tuple((int(start), int(end)) for start, end in value["supervised"]),
                finish=tuple(value.get("finish", ())),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"a conversation does not fit: {error!r}") from error


def write_conversations(folder: Path, conversations: Sequence[Conversation], **facts: Any) -> dict[str, Any]:
    """Write table and manifest; returns the manifest. Raises DiskFull."""
    lines = [json.dumps(conversation.to_json(), separators=(",", ":")) for conversation in conversations]
    body = "".join(f"{line}\n" for line in lines).encode()
    samples = {
        "file": TABLE,
        "digest": hashlib.sha256(body).hexdigest(),
        "count": len(conversations),
        "tokens": sum(len(conversation.input_ids) for conversation in conversations),
        "supervised": sum(conversation.num_supervised for conversation in conversations),
    }
    write_bytes(str(folder / TABLE), body)
    write_json(str(folder / MANIFEST), {**facts, "samples": samples})
    return read_json(str(folder / MANIFEST))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Raises DataError."""
    path = folder / MANIFEST
    try:
        manifest = read_json(str(path))
        manifest["samples"]["digest"], manifest["tokenizer_digest"]
        return manifest
    except FileNotFoundError as error:
        raise DataError(f"{path}: no manifest", "let synth finish first") from error
    except (ProtocolError, KeyError, TypeError) as error:
        raise DataError(f"{path}: does not fit: {error!r}") from error


def read_conversations(folder: Path) -> Iterable[Conversation]:
    """Every conversation of a synth folder, in order. Raises DataError when the table is not the manifest's."""
    samples = read_manifest(folder)["samples"]
    path = folder / samples["file"]
    try:
        body = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: unreadable: {error}") from error
    if hashlib.sha256(body).hexdigest() != samples["digest"]:
        raise DataError(f"{path}: not the table that the manifest names: its digest differs")
    return [Conversation.from_json(json.loads(line)) for line in body.splitlines()]
