"""Writer threads: from rows in memory to whole files, with back-pressure and an account of each."""

import array
import errno
import queue
import threading
import zlib

import torch

from pointsman_capture.tensorfile import header, write_whole

DTYPES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}


class Writers:
    """Threads that write what `put` gives them. After a failed write nothing more is: the set would have holes.

    Without threads `put` writes itself: what a naive capture would do, to compare with.
    """

    def __init__(self, folder, settings):
        self._folder = folder
        self._dtype = None if settings.dtype == "auto" else getattr(torch, settings.dtype)
        self._room = _Room(settings.queue_bytes)
        self._queue = queue.SimpleQueue()
        self._failed = False
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

    def _work(self):
        while True:
            captured, size = self._queue.get()
            self._finish(captured)
            del captured
            self._room.give(size)

    def _finish(self, captured):
        try:
            if not self._failed:
                self._folder.record(self._write(captured))
        except Exception as error:
            self._failed = True
            self._folder.fail(captured.asked["id"], error, is_full=_is_full(error))

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
        size = write_whole(self._folder.path(asked["file"]), chunks)
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


class _Room:
    """A bound on the bytes under way. One request larger than the bound passes when it is alone."""

    def __init__(self, most):
        self._most = most
        self._used = 0
        self._changed = threading.Condition()

    def take(self, size):
        with self._changed:
            self._changed.wait_for(lambda: self._used == 0 or self._used + size <= self._most)
            self._used += size

    def give(self, size):
        with self._changed:
            self._used -= size
            self._changed.notify_all()


def is_finite(tensor):
    """Whether every value is finite. A finite sum proves it at the price of one pass; else each value is looked at."""
    return bool(torch.isfinite(tensor.sum(dtype=torch.float32))) or bool(torch.isfinite(tensor).all())


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
