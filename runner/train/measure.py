"""A pack beside its teacher, and measurements over packs: loss and accuracy by draft step."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from runner.train.batches import Pack
from runner.train.layout import Layout
from runner.train.loss import ttt_loss
from runner.train.model import DraftModel
from runner.train.teacher import TargetHead, Teacher, best_ids, teach

ROWS_ASKED = 1024


@dataclass(frozen=True, kw_only=True)
class Target:
    """What the loop needs of the target, on the device."""

    embedding_VH: Tensor
    head: TargetHead


class Choices:
    """The target's first choice at every supervised row of a sample, asked once in a run: four bytes a row."""

    def __init__(self, head: TargetHead) -> None:
        self.head = head
        self._of: dict[int, Tensor] = {}

    def of(self, pack: Pack, last_RH: Tensor) -> Tensor:
        """[R], in the CPU's memory. The answer cannot depend on a sample's neighbours."""
        if not pack.numbers:
            return torch.zeros(0, dtype=torch.int64)
        if any(number not in self._of for number in pack.numbers):
            self._ask(pack, last_RH)
        return torch.cat([self._of[number] for number in pack.numbers]).long()

    def _ask(self, pack: Pack, last_RH: Tensor) -> None:
        """A CPU is asked a sample at a time. A GPU in blocks of one size, the last filled up: a row's sum is the same
        in any place of them."""
        if last_RH.is_cuda:
            filled = torch.nn.functional.pad(last_RH, (0, 0, 0, -len(last_RH) % ROWS_ASKED))
            best = torch.cat([best_ids(block, self.head.full_VH) for block in torch.split(filled, ROWS_ASKED)])
            parts = torch.split(best[: len(last_RH)].int().cpu(), list(pack.supervised))
        else:
            parts = tuple(
                best_ids(rows, self.head.full_VH).int() for rows in torch.split(last_RH, list(pack.supervised))
            )
        self._of.update(zip(pack.numbers, parts, strict=True))


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A pack, on the device but for `pack` itself, with its teacher."""

    pack: Pack
    layout: Layout
    aux_NC: Tensor
    embeds_NH: Tensor
    best_R: Tensor
    teacher: Teacher


def place(pack: Pack, target: Target, choices: Choices, device: torch.device, dtype: torch.dtype) -> Placed:
    """Move a pack to the device and let the target teach it."""
    last = pack.last_RH.to(device, non_blocking=True).to(dtype)
    if not pack.numbers:
        last = last.new_zeros(0, target.embedding_VH.shape[1])
    best = choices.of(pack, last)
    return Placed(
        pack=pack,
        layout=pack.layout.to(device),
        aux_NC=pack.aux_NC.to(device, non_blocking=True).to(dtype),
        embeds_NH=target.embedding_VH[pack.input_ids_N.to(device, non_blocking=True)],
        best_R=best,
        teacher=teach(last, best, target.head, pack.layout),
    )


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Held-out figures. `accuracy[k]`: of all supervised slots of step k, how often the first choices agree."""

    loss: float
    loss_by_step: tuple[float, ...]
    accuracy: tuple[float, ...]
    coverage: float
    slots: int

    @staticmethod
    def of(sums: Tensor, step_decay: float) -> "Measured":
        """From the rows of `StepSums.stacked`, added up over packs and ranks."""
        loss, correct, kept, supervised = sums.double().cpu()
        by_step = (loss / kept.clamp(min=1)).tolist()
        return Measured(
            loss=sum(step_decay**k * value for k, value in enumerate(by_step)),
            loss_by_step=tuple(by_step),
            accuracy=tuple((correct / supervised.clamp(min=1)).tolist()),
            coverage=float(kept[0] / supervised[0].clamp(min=1)),
            slots=int(supervised[0]),
        )


@torch.no_grad()
def add_up(model: DraftModel, packs: Iterable[Placed], ttt_length: int, rows: int, device: torch.device) -> Tensor:
    """`StepSums.stacked` over all packs, in double."""
    total = torch.zeros(4, ttt_length, dtype=torch.float64, device=device)
    ones = torch.ones(ttt_length, device=device)
    for placed in packs:
        if placed.pack.layout.num_active:
            states = model(placed.aux_NC, placed.embeds_NH, placed.layout, ttt_length)
            total += ttt_loss(model, states, placed.teacher, placed.layout, ones, rows)[1].stacked
    return total
