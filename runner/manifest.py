"""What a feature set says of itself: `manifest.json`, and its table of samples, `samples.jsonl`."""

import dataclasses
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.protocol.errors import DataError, ProtocolError
from runner.protocol.files import read_json, write_bytes, write_json
from runner.tensorfile import ITEM_BYTES, TensorInfo

MANIFEST, TABLE = "manifest.json", "samples.jsonl"
# The contract's names of dtypes and those of safetensors headers.
HEADER_DTYPES = {"float32": "F32", "bfloat16": "BF16", "float16": "F16"}


@dataclass(frozen=True, kw_only=True)
class Model:
    """The target. `model_type` is that of its config; `revision` is a digest of its weight files' names and sizes."""

    name: str
    path: str
    revision: str
    config_digest: str
    model_type: str
    vocab_size: int


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What made the states. `patch_digest` is that of the capture plugin's files."""

    name: str
    version: str
    patch_digest: str


@dataclass(frozen=True, kw_only=True)
class Capture:
    """Which states: index i is transformers' `hidden_states[i]`, the input of layer i.

    `layer_ids` made the engine capture them; `captured` is what the loaded model then said it captures.
    """

    indices: tuple[int, ...]
    layer_ids: tuple[int, ...]
    captured: tuple[int, ...]
    family: str
    final_norm: str = "post"


@dataclass(frozen=True, kw_only=True)
class Table:
    """The table of samples: digest of its file, and its sums."""

    file: str
    digest: str
    count: int
    tokens: int
    supervised: int
    bytes: int


def file_checksum(path: Path) -> str:
    """CRC-32 of every byte, as the capture writes it into a sample's record. Raises OSError."""
    total = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            total = zlib.crc32(chunk, total)
    return f"crc32:{total:08x}"


@dataclass(frozen=True, kw_only=True)
class SampleRow:
    """One sample. `file` is relative to the data folder; `checksum` covers all bytes of the file."""

    id: str
    file: str
    num_tokens: int
    num_supervised: int
    bytes: int
    checksum: str
    finite: bool
    next_token: int | None = None  # what the engine itself said comes after the last token


@dataclass(frozen=True, kw_only=True)
class Manifest:
    model: Model
    engine: Engine
    capture: Capture
    dtype: str
    hidden_size: int
    tokenizer_digest: str
    source_digest: str  # of the conversations' table that was extracted
    created_at: str
    samples: Table

    @property
    def bytes_per_token(self) -> int:
        """Of the states alone."""
        return (len(self.capture.indices) + 1) * self.hidden_size * ITEM_BYTES[HEADER_DTYPES[self.dtype]]


def expected_tensors(manifest: Manifest, num_tokens: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Dtype and shape of every tensor of a sample's file."""
    states = HEADER_DTYPES[manifest.dtype]
    return {
        "input_ids": ("I32", (num_tokens,)),
        "loss_mask": ("U8", (num_tokens,)),
        "aux_hidden_states": (states, (num_tokens, len(manifest.capture.indices) * manifest.hidden_size)),
        "last_hidden_states": (states, (num_tokens, manifest.hidden_size)),
    }


def complain_of_tensors(manifest: Manifest, num_tokens: int, found: Mapping[str, TensorInfo]) -> str:
    """What is wrong with the tensors of a sample's header, in words; empty when nothing is."""
    for name, (dtype, shape) in expected_tensors(manifest, num_tokens).items():
        info = found.get(name)
        if info is None:
            return f"{name} is missing"
        if info.shape != shape:
            return f"{name} has shape {list(info.shape)}, expected {list(shape)}"
        if info.dtype != dtype:
            return f"{name} is {info.dtype}, expected {dtype}"
    return ""


def write_set(folder: Path, rows: Sequence[SampleRow], **fields: Any) -> Manifest:
    """Write the table, then the manifest: a folder with a manifest is a whole set. Raises DiskFull."""
    body = b"".join(_line(row) for row in rows)
    table = Table(
        file=TABLE,
        digest=hashlib.sha256(body).hexdigest(),
        count=len(rows),
        tokens=sum(row.num_tokens for row in rows),
        supervised=sum(row.num_supervised for row in rows),
        bytes=sum(row.bytes for row in rows),
    )
    manifest = Manifest(samples=table, **fields)
    write_bytes(str(folder / TABLE), body)
    write_json(str(folder / MANIFEST), dataclasses.asdict(manifest))
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """Raises DataError when there is none, or it does not fit."""
    path = folder / MANIFEST
    try:
        body = read_json(str(path))
        body.pop("version")
        body["capture"] = {key: tuple(v) if isinstance(v, list) else v for key, v in body["capture"].items()}
        for name, kind in (("model", Model), ("engine", Engine), ("capture", Capture), ("samples", Table)):
            body[name] = kind(**body[name])
        return Manifest(**body)
    except FileNotFoundError as error:
        raise DataError(f"{path}: no manifest", "extraction has not finished there: let it run to its end") from error
    except (ProtocolError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: does not fit: {error}") from error


def manifest_digest(folder: Path) -> str:
    """sha256 of the manifest's bytes. It names the set: the manifest holds the digest of the table."""
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()


def read_rows(folder: Path, table: Table) -> list[SampleRow]:
    """The table of samples. Raises DataError when it is not the one that the manifest names."""
    path = folder / table.file
    try:
        body = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: unreadable: {error}") from error
    if hashlib.sha256(body).hexdigest() != table.digest:
        raise DataError(f"{path}: not the table that the manifest names: its digest differs")
    return list(parse_rows(body, str(path)))


def parse_rows(body: bytes, name: str) -> Iterable[SampleRow]:
    """Rows of a table's bytes. Raises DataError."""
    for number, line in enumerate(body.splitlines(), 1):
        try:
            yield SampleRow(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise DataError(f"{name}: line {number} does not fit: {error}") from error


def _line(row: SampleRow) -> bytes:
    return json.dumps(dataclasses.asdict(row), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
