"""Writer threads: from rows in memory to whole files, with back-pressure and an account of each."""

import array
import errno
import math
import queue
import threading
import zlib

import torch

from pointsman_capture.mover import Mover
from pointsman_capture.room import Room
from pointsman_capture.tensorfile import header, write_whole

DTYPES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}


class Writers:
    """Threads that write what `put` gives them. After a failed write nothing more is: the set would have holes.

    With a station they write there, and a mover takes the files to their place behind them.

    Without threads `put` writes itself: what a naive capture would do, to compare with.
    """

    def __init__(self, folder, settings):
        self._folder = folder
        self._dtype = None if settings.dtype == "auto" else getattr(torch, settings.dtype)
        self._room = Room(settings.queue_bytes)
        self._queue = queue.SimpleQueue()
        self._failed = False
        self._mover = None
        if settings.station is not None:
            self._mover = Mover(settings, folder, self._moved, self._move_failed)
        names = [f"capture-writer-{number}" for number in range(settings.writers)]
        self._threads = [threading.Thread(target=self._work, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    def put(self, captured):
        """Hand one request over; waits while too many bytes are on their way."""
        if self._failed:
            return
        if not self._threads:
            self._finish(captured)
            return
        size = _num_bytes(captured.parts)
        self._room.take(size)
        self._queue.put((captured, size))

    def wait_idle(self, timeout_s):
        """Whether everything that was handed over is in its place, after waiting for it."""
        return self._room.wait_empty(timeout_s) and (self._mover is None or self._mover.room.wait_empty(timeout_s))

    def _work(self):
        while True:
            captured, size = self._queue.get()
            self._finish(captured)
            del captured
            self._room.give(size)

    def _finish(self, captured):
        try:
            if self._failed:
                return
            record = self._write(captured)
            if self._mover is not None and "error" not in record:
                self._mover.put(record)
            else:
                self._folder.record(record)
        except Exception as error:
            self._fail(captured.asked["id"], error)

    def _moved(self, record):
        if not self._failed:
            self._folder.record(record)

    def _move_failed(self, record, error):
        self._fail(record["id"], error)

    def _fail(self, sample_id, error):
        self._failed = True
        self._folder.fail(sample_id, error, is_full=_is_full(error))

    def _place(self, file, size):
        """Where a file is written; waits for room in the station."""
        path = self._folder.path(file)
        if self._mover is None:
            return path
        self._mover.room.take(size)
        return self._mover.path(file)

    def _write(self, captured):
        """Write one file; returns its record. A request whose rows are not its tokens gets a record, but no file."""
        parts, asked = captured.parts, captured.asked
        for transfer in parts.transfers:
            transfer.wait()
        count = len(captured.input_ids)
        if parts.num_rows != count:
            why = f"{parts.num_rows} rows for {count} tokens: a cached prefix, or a chunk that is missing"
            return {"id": asked["id"], "error": why}
        aux, last = ([self._convert(part) for part in chunks] for chunks in (parts.aux, parts.last))
        mask = _mask(asked["mask"], count)
        ids = array.array("i", captured.input_ids)
        states = DTYPES[aux[0].dtype]
        head = header(
            # The states first: so they are aligned to their items, whatever the number of tokens.
            aux_hidden_states=(states, (count, aux[0].shape[1])),
            last_hidden_states=(states, (count, last[0].shape[1])),
            input_ids=("I32", (count,)),
            loss_mask=("U8", (count,)),
        )
        chunks = [head, *map(_bytes, aux), *map(_bytes, last), memoryview(ids).cast("B"), memoryview(mask)]
        checksum = 0
        for chunk in chunks:
            checksum = zlib.crc32(chunk, checksum)
        place = self._place(asked["file"], sum(memoryview(chunk).nbytes for chunk in chunks))
        size = write_whole(place, chunks)
        return {
            "id": asked["id"],
            "file": asked["file"],
            "num_tokens": count,
            "num_supervised": sum(mask),
            "bytes": size,
            "checksum": f"crc32:{checksum:08x}",
            "finite": all(map(is_finite, aux + last)),
        }

    def _convert(self, part):
        part = part if self._dtype is None else part.to(self._dtype)
        return part.contiguous()


def is_finite(tensor):
    """Whether every value is finite. NaN passes through both ends; this is many times faster than a look at each."""
    low, high = torch.aminmax(tensor)
    return math.isfinite(low.item()) and math.isfinite(high.item())


def _mask(runs, count):
    """The loss mask from lengths of runs, the first of zeros: "3,2" is 0 0 0 1 1."""
    mask = b"".join(bytes([i % 2]) * int(length) for i, length in enumerate(runs.split(",")))
    if len(mask) != count:
        raise ValueError(f"the mask is for {len(mask)} tokens, the request has {count}")
    return mask


def _bytes(tensor):
    return memoryview(tensor.view(torch.uint8).numpy()).cast("B")


def _num_bytes(parts):
    return sum(part.numel() * part.element_size() for part in parts.aux + parts.last)


def _is_full(error):
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
