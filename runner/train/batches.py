"""Which samples make which optimizer step, and how their tensors get into memory in time.

The plan of an epoch is a pure function of lengths, seed and epoch: any position in it can be resumed, and neither
the number of reading threads nor their timing can change it.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from runner.protocol.errors import DataError
from runner.train.layout import Layout, lay_out, useful_rows

_HELD_OUT_STREAM = 2**32  # no epoch has this number


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One conversation: input_ids [T] and loss_mask [T] in numpy; aux [T, 3H] and last [T, H] in torch."""

    input_ids: npt.NDArray[np.int32]
    loss_mask: npt.NDArray[np.uint8]
    aux: Tensor
    last: Tensor


class Source(Protocol):
    """A feature set: samples by number."""

    @property
    def ids(self) -> Sequence[str]: ...
    @property
    def num_tokens(self) -> Sequence[int]: ...
    @property
    def num_supervised(self) -> Sequence[int]: ...
    def read(self, number: int) -> Sample:
        """Raises DataError naming the sample when it is missing or damaged."""
        ...


@dataclass(frozen=True, kw_only=True)
class Pack:
    """Whole conversations as one forward pass takes them: N rows, R supervised."""

    numbers: tuple[int, ...]  # of the samples in it, in order
    supervised: tuple[int, ...]  # supervised rows of each
    num_tokens: int  # of the conversations as they were read, before useless rows were cut
    input_ids_N: Tensor
    aux_NC: Tensor
    last_RH: Tensor
    following_R: Tensor  # the token after each supervised row, -1 at the end: what the target's choice should often be
    layout: Layout
    skipped: tuple[tuple[str, str], ...] = field(default=())  # samples that could not be read: id and why


def split(num_supervised: Sequence[int], share: float, seed: int) -> tuple[list[int], list[int]]:
    """Sample numbers to train on and to hold out; samples without a supervised token are in neither."""
    usable = [number for number, count in enumerate(num_supervised) if count > 0]
    held = max(1, round(share * len(usable))) if share > 0 and len(usable) > 1 else 0
    order = _generator(seed, _HELD_OUT_STREAM).permutation(len(usable))
    kept_out = set(order[:held].tolist())
    train = [number for place, number in enumerate(usable) if place not in kept_out]
    return train, [number for place, number in enumerate(usable) if place in kept_out]


def plan_epoch(
    numbers: Sequence[int], lengths: Sequence[int], seed: int, epoch: int, pack_tokens: int, packs_per_step: int
) -> list[list[list[int]]]:
    """Steps of packs of sample numbers. A pack ends before the sample that would not fit; a longer one is alone."""
    order = [numbers[place] for place in _generator(seed, epoch).permutation(len(numbers))]
    packs = fill_packs(order, lengths, pack_tokens)
    return [packs[first : first + packs_per_step] for first in range(0, len(packs), packs_per_step)]


def fill_packs(order: Sequence[int], lengths: Sequence[int], pack_tokens: int) -> list[list[int]]:
    packs: list[list[int]] = []
    filled = pack_tokens
    for number in order:
        if filled + lengths[number] > pack_tokens:
            packs.append([])
            filled = 0
        packs[-1].append(number)
        filled += lengths[number]
    return packs


def _generator(seed: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=np.array([seed, stream], dtype=np.uint64)))


def read_pack(source: Source, numbers: Sequence[int], ttt_length: int, max_length: int, skip_bad: bool) -> Pack:
    """Read and lay out one pack. Raises DataError for a bad sample, unless `skip_bad`: then the pack lacks it."""
    read: list[tuple[int, Sample, int]] = []
    skipped = []
    tokens = 0
    for number in numbers:
        try:
            sample = source.read(number)
        except DataError as error:
            if not skip_bad:
                raise
            skipped.append((source.ids[number], error.message))
            continue
        mask = sample.loss_mask[:max_length] if max_length else sample.loss_mask
        tokens += len(mask)
        rows = useful_rows(mask)
        if rows:
            read.append((number, sample, rows))
    layout = lay_out([sample.loss_mask[:rows] for _, sample, rows in read], ttt_length)
    return Pack(
        numbers=tuple(number for number, _, _ in read),
        supervised=tuple(int(np.count_nonzero(sample.loss_mask[1:rows])) for _, sample, rows in read),
        num_tokens=tokens,
        input_ids_N=_concat([torch.from_numpy(s.input_ids[:rows].astype(np.int64)) for _, s, rows in read]),
        aux_NC=_concat([sample.aux[:rows] for _, sample, rows in read]),
        last_RH=_concat([sample.last[:rows] for _, sample, rows in read]).index_select(0, layout.supervised_R),
        following_R=_concat([_following(sample, rows) for _, sample, rows in read]),
        layout=layout,
        skipped=tuple(skipped),
    )


def _following(sample: Sample, rows: int) -> Tensor:
    ids = np.append(sample.input_ids[: rows + 1], -1 if rows == len(sample.input_ids) else 0).astype(np.int64)
    places = np.flatnonzero(sample.loss_mask[1:rows]) + 1
    return torch.from_numpy(ids[places + 1])


def _concat(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat(list(parts)) if parts else torch.zeros(0, dtype=torch.int64)


@dataclass
class Reader:
    """Reads packs ahead with `threads` threads (0: none), in order. `wait_s` adds up what the consumer waited."""

    source: Source
    ttt_length: int
    max_length: int
    skip_bad: bool
    threads: int
    pinned: bool = False
    wait_s: float = 0.0

    def packs(self, wanted: Sequence[Sequence[int]]) -> Iterator[Pack]:
        """Packs of these sample numbers. Close the iterator to stop the threads."""
        if self.threads == 0:
            for numbers in wanted:
                started_s = time.perf_counter()
                pack = self._read(numbers)
                self.wait_s += time.perf_counter() - started_s
                yield pack
            return
        ahead: deque[Future[Pack]] = deque()
        todo = iter(wanted)
        pool = ThreadPoolExecutor(self.threads, thread_name_prefix="read")
        try:
            for numbers in todo:
                ahead.append(pool.submit(self._read, numbers))
                if len(ahead) > 2 * self.threads:
                    yield self._take(ahead)
            while ahead:
                yield self._take(ahead)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _take(self, ahead: deque[Future[Pack]]) -> Pack:
        started_s = time.perf_counter()
        pack = ahead.popleft().result()
        self.wait_s += time.perf_counter() - started_s
        return pack

    def _read(self, numbers: Sequence[int]) -> Pack:
        pack = read_pack(self.source, numbers, self.ttt_length, self.max_length, self.skip_bad)
        if not self.pinned:
            return pack
        pinned = {name: getattr(pack, name).pin_memory() for name in ("input_ids_N", "aux_NC", "last_RH")}
        return replace(pack, **pinned)
