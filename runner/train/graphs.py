"""CUDA graphs: a pack's forward and backward pass replayed as one launch. At small shapes launches are what binds.

A graph is for one size. A pack is filled up to the next size with a conversation of its own that nothing supervises;
what lies in the buffers beyond it is of earlier packs, finite, and weighs nothing.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from runner.train.layout import Layout
from runner.train.loss import ttt_loss
from runner.train.measure import Placed
from runner.train.model import DraftModel
from runner.train.teacher import TargetHead, Teacher

STEP = 256  # sizes are multiples of it
CONVERSATIONS = 16  # and their number of this
MOST_GRAPHS = 24


@dataclass(frozen=True)
class Size:
    """Rows, active slots, teacher rows, and conversations with the one that fills up."""

    rows: int
    active: int
    taught: int
    talks: int

    @staticmethod
    def of(layout: Layout, taught: int) -> "Size":
        active = _up(layout.num_active, STEP)
        # the filling conversation has at least as many rows as active slots
        rows = _up(layout.num_rows + active - layout.num_active, STEP)
        return Size(rows, active, _up(taught, STEP), _up(len(layout.row_starts), CONVERSATIONS))


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def fill_up(layout: Layout, size: Size) -> Layout:
    """The layout, in the CPU's memory, with a last conversation that nothing supervises, up to `size`."""
    rows, active = size.rows - layout.num_rows, size.active - layout.num_active
    own = torch.arange(size.rows - active, size.rows)
    slots = F.pad(layout.slot_of_N, (0, rows), value=-1)
    slots[own] = torch.arange(layout.num_active, size.active)
    missing = size.talks - len(layout.row_starts) + 1
    return replace(
        layout,
        row_starts=(*layout.row_starts, *[size.rows] * missing),
        active_starts=(*layout.active_starts, *[size.active] * missing),
        positions_N=torch.cat([layout.positions_N, torch.arange(rows)]),
        active_A=torch.cat([layout.active_A, own]),
        slot_of_N=slots,
        row_starts_C=F.pad(layout.row_starts_C, (0, missing), value=size.rows),
        active_starts_C=F.pad(layout.active_starts_C, (0, missing), value=size.active),
        longest_rows=size.rows,
        longest_active=size.active,
        place_R=F.pad(layout.place_R, (0, size.rows - len(layout.place_R))),
    )


class Buffers:
    """The tensors that a graph reads, of one size."""

    def __init__(self, size: Size, placed: Placed, head: TargetHead, steps: int) -> None:
        self.size, new = size, placed.aux_NC.new_zeros
        self.aux, self.embeds = new(size.rows, placed.aux_NC.shape[1]), new(size.rows, placed.embeds_NH.shape[1])
        self.layout = fill_up(placed.pack.layout, size).to(placed.aux_NC.device)
        place, slot, best = new(3, size.taught, dtype=torch.int64)
        self.teacher = Teacher(
            kept_R=placed.teacher.kept_R, place_T=place, slot_T=slot, best_T=best,
            last_TH=new(size.taught, placed.embeds_NH.shape[1]), head=head,
        )  # fmt: skip
        self.weights_K = new(steps, dtype=torch.float32)

    def load(self, placed: Placed, weights_K: Tensor) -> None:
        layout = fill_up(placed.pack.layout, self.size)
        for name in ("positions_N", "active_A", "slot_of_N", "row_starts_C", "active_starts_C", "place_R"):
            getattr(self.layout, name).copy_(getattr(layout, name), non_blocking=True)
        self.layout = replace(self.layout, row_starts=layout.row_starts, active_starts=layout.active_starts)
        self.aux[: len(placed.aux_NC)].copy_(placed.aux_NC)
        self.embeds[: len(placed.embeds_NH)].copy_(placed.embeds_NH)
        self.weights_K.copy_(weights_K)
        count = len(placed.teacher.place_T)
        self.teacher.place_T[count:].zero_()  # a place of 0 has no slot at any step
        for name in ("place_T", "slot_T", "best_T", "last_TH"):
            getattr(self.teacher, name)[:count].copy_(getattr(placed.teacher, name))


class Graphs:
    """Runs packs: a size plainly the first time it is met, from a graph of its own from then on."""

    def __init__(self, model: DraftModel, steps: int, loss_rows: int) -> None:
        self.model, self.steps, self.loss_rows = model, steps, loss_rows
        self.parameters = list(model.parameters())
        self.buffers: dict[Size, Buffers] = {}
        self.recorded: dict[Size, tuple[Any, Tensor]] = {}
        self.pool: Any = None

    def run(self, placed: Placed, weights_K: Tensor) -> Tensor:
        """Adds the pack's gradients to the parameters' and returns `StepSums.stacked`."""
        size = Size.of(placed.pack.layout, len(placed.teacher.place_T))
        known = self.buffers.get(size)
        if known is None:
            if len(self.buffers) >= MOST_GRAPHS:
                return self._pass(placed.aux_NC, placed.embeds_NH, placed.layout, placed.teacher, weights_K)
            known = self.buffers[size] = Buffers(size, placed, placed.teacher.head, self.steps)
            known.load(placed, weights_K)
            return self._filled(known)
        known.load(placed, weights_K)
        if not known.aux.is_cuda:
            return self._filled(known)
        if size not in self.recorded:
            self._record(known)
        graph, sums = self.recorded[size]
        graph.replay()
        return sums.clone()

    def _record(self, buffers: Buffers) -> None:
        graph = torch.cuda.CUDAGraph()
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="relaxed"):  # readers pin memory meanwhile
            sums = self._filled(buffers)
        self.recorded[buffers.size] = graph, sums

    def _filled(self, buffers: Buffers) -> Tensor:
        return self._pass(buffers.aux, buffers.embeds, buffers.layout, buffers.teacher, buffers.weights_K)

    def _pass(self, aux: Tensor, embeds: Tensor, layout: Layout, teacher: Teacher, weights_K: Tensor) -> Tensor:
        states = self.model(aux, embeds, layout, self.steps)
        loss, sums = ttt_loss(self.model, states, teacher, layout, weights_K, self.loss_rows)
        gradients = torch.autograd.grad(loss, self.parameters)
        kept = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        torch._foreach_add_(kept, list[Tensor](gradients))
        return sums.stacked
