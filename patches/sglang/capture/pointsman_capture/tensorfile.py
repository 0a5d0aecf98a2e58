"""Safetensors bytes from buffers that lie in memory already: no joining, no second copy."""

import contextlib
import json
import os
from pathlib import Path

ITEM_BYTES = {"F32": 4, "BF16": 2, "F16": 2, "I32": 4, "U8": 1}
_MOST_BUFFERS = 512  # below every system's IOV_MAX


def header(**tensors):
    """The header for `name=(dtype, shape)` in the order of the data, padded to 8 bytes."""
    entries, at = {}, 0
    for name, (dtype, shape) in tensors.items():
        size = ITEM_BYTES[dtype]
        for dimension in shape:
            size *= dimension
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    body = json.dumps(entries, separators=(",", ":")).encode()
    body += b" " * (-len(body) % 8)
    return len(body).to_bytes(8, "little") + body


@contextlib.contextmanager
def placed(path):
    """A handle to write to. Whole at the end of the block it is `path` (fsync, rename); else nothing is left of it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temp = path.with_name(f".tmp-{path.name}")
    handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        try:
            yield handle
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temp, path)  # noqa: PTH105
    except BaseException:
        temp.unlink(missing_ok=True)
        raise


def write_whole(path, chunks):
    """Write `chunks` under `path`; returns the size."""
    with placed(path) as handle:
        return _write_all(handle, [memoryview(chunk).cast("B") for chunk in chunks])


def _write_all(handle, chunks):
    chunks = [chunk for chunk in chunks if chunk.nbytes]
    size = sum(chunk.nbytes for chunk in chunks)
    while chunks:
        written = os.writev(handle, chunks[:_MOST_BUFFERS])
        while chunks and written >= chunks[0].nbytes:
            written -= chunks.pop(0).nbytes
        if written:
            chunks[0] = chunks[0][written:]
    return size
