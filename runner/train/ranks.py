"""Data parallelism: this process among its ranks, which packs are its own, and what the ranks agree on.

Every rank takes part in every sum, also one whose pack is empty: nothing can hang on an unlucky mask. What the
program asks itself (stop? save? how far?) goes through the CPUs, so that nobody waits for a GPU.
"""

import atexit
import gc
import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from runner.protocol.errors import StageError


@dataclass(frozen=True)
class Ranks:
    """This process among those that torchrun (or Slurm through it) started."""

    rank: int
    size: int
    device: torch.device

    @staticmethod
    def join(device: str) -> "Ranks":
        """From torchrun's environment; alone without it. Raises StageError when CUDA is asked for and absent."""
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cuda" and not torch.cuda.is_available():
            raise StageError("no CUDA device here", "--device cpu trains on the CPU")
        local = int(os.environ.get("LOCAL_RANK", "0"))
        place = torch.device("cuda", local) if device == "cuda" else torch.device("cpu")
        if place.type == "cuda":
            torch.cuda.set_device(place)
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size > 1 and not dist.is_initialized():
            # Its functions' defaults keep the group that exists when it is imported, as torch itself does later on:
            # see `leave`.
            importlib.import_module("torch.distributed.nn.functional")
            dist.init_process_group("cpu:gloo,cuda:nccl" if place.type == "cuda" else "gloo")
        return Ranks(int(os.environ.get("RANK", "0")), size, place)

    @property
    def first(self) -> bool:
        return self.rank == 0

    def leave(self) -> None:
        """A group that something still holds when the interpreter ends has threads, and now and then they abort it."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
            atexit.register(gc.collect)  # a sharded model holds it, in cycles

    def share(self, packs: Sequence[list[int]]) -> list[list[int]]:
        """This rank's packs of a step: every size-th. As many for every rank; empty ones fill up."""
        rounds = -(-len(packs) // self.size)
        own = list(packs[self.rank :: self.size])
        return own + [[] for _ in range(rounds - len(own))]

    def sum(self, *tensors: Tensor) -> None:
        """Sum in place over all ranks."""
        if self.size == 1:
            return
        for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
            work.wait()

    def any(self, flag: bool) -> bool:
        """Whether any rank says so: all of them act on it in the same step."""
        if self.size == 1:
            return flag
        told = torch.tensor([float(flag)])
        dist.all_reduce(told)
        return bool(told.item() > 0)

    def wait(self) -> None:
        """Until all have come here."""
        self.any(False)

    def first_says(self, number: float) -> float:
        """The first rank's number: clocks differ."""
        if self.size == 1:
            return number
        told = torch.tensor([number], dtype=torch.float64)
        dist.broadcast(told, src=0)
        return float(told.item())

    def each(self, number: int) -> list[int]:
        """The number of every rank."""
        if self.size == 1:
            return [number]
        told = torch.zeros(self.size, dtype=torch.int64)
        told[self.rank] = number
        dist.all_reduce(told)
        return [int(value) for value in told]
