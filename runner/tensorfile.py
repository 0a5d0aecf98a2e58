"""The header of a safetensors file, read with the standard library alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.protocol.errors import DataError

ITEM_BYTES = {"F32": 4, "BF16": 2, "F16": 2, "F64": 8, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
_MAX_HEADER = 100_000_000  # the format's own limit


@dataclass(frozen=True)
class TensorInfo:
    """`start` and `end` are bytes from the beginning of the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def read_header(path: Path) -> dict[str, TensorInfo]:
    """Every tensor of the file by name. Raises DataError when file and header do not agree to the byte."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(_MAX_HEADER, size - 8):
                raise DataError(f"no safetensors header in {size} bytes")
            parsed = json.loads(file.read(length))
    except FileNotFoundError as error:
        raise DataError("file is missing") from error
    except OSError as error:
        raise DataError(f"file is unreadable: {error}") from error
    except ValueError as error:
        raise DataError("safetensors header is no JSON") from error
    return _check(parsed, 8 + length, size)


def _check(parsed: object, data: int, size: int) -> dict[str, TensorInfo]:
    if not isinstance(parsed, Mapping):
        raise DataError("safetensors header is no object")
    tensors: dict[str, TensorInfo] = {}
    for name, entry in parsed.items():
        if name == "__metadata__":
            continue
        try:
            start, end = entry["data_offsets"]
            info = TensorInfo(entry["dtype"], tuple(entry["shape"]), data + start, data + end)
            wanted = ITEM_BYTES[info.dtype]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"safetensors header: entry {name!r} does not fit") from error
        for dimension in info.shape:
            wanted *= dimension
        if info.end - info.start != wanted:
            raise DataError(f"{name}: {info.end - info.start} bytes for {info.dtype} {list(info.shape)}")
        tensors[name] = info
    at = data
    for info in sorted(tensors.values(), key=lambda info: info.start):
        if info.start != at:
            raise DataError("safetensors header: tensors overlap or leave holes")
        at = info.end
    if at != size:
        raise DataError(f"{size} bytes, its header speaks of {at}: cut short or grown")
    return tensors
