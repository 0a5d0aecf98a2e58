"""Soft cross-entropy against the target over the draft vocabulary, fused with the draft head.

The logits of all steps together would be ttt_length times as large as those of one; they exist a few rows at a
time. The gradient is made where the logits are, in the forward pass: it is (softmax(z) - p) times the row's weight.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from runner.train.layout import Layout, count_slots, step_slots
from runner.train.model import DraftModel
from runner.train.teacher import Teacher


@dataclass(frozen=True, kw_only=True)
class StepSums:
    """Sums over one pack, by step [ttt_length]: of the losses, of correct first choices, of slots kept and of all."""

    loss: Tensor
    correct: Tensor
    kept: Tensor
    supervised: Tensor

    @property
    def stacked(self) -> Tensor:
        """[4, ttt_length], in double: rows as the fields."""
        return torch.stack([self.loss.double(), self.correct.double(), self.kept.double(), self.supervised.double()])


def ttt_loss(
    model: DraftModel, states_KAH: Tensor, teacher: Teacher, layout: Layout, weights_K: Tensor, rows: int
) -> tuple[Tensor, StepSums]:
    """The pack's part of the loss: over steps k, weights[k] times the sum of the cross-entropies of its slots.

    `weights[k]` is decay^k over the number of kept slots of the whole optimizer step, all packs and ranks together;
    so the mean is over the slots that are supervised and whose teacher lies in the draft vocabulary.
    """
    steps, active, hidden = states_KAH.shape
    slot_KT, there_KT = step_slots(teacher.slot_T, teacher.place_T, steps)
    slot_KT += torch.arange(steps, device=slot_KT.device)[:, None] * active
    picked_MH = states_KAH.view(steps * active, hidden).index_select(0, slot_KT.flatten())
    weight_M = (weights_K[:, None] * there_KT).flatten()
    total, losses_M, right_M = _HeadLoss.apply(  # type: ignore[no-untyped-call]
        model.normed(picked_MH), model.lm_head, teacher.probabilities(), teacher.best_T, weight_M, rows
    )
    right_KT = right_M.view_as(slot_KT) & there_KT
    return total, StepSums(
        loss=(losses_M.view_as(slot_KT) * there_KT).sum(1),
        correct=right_KT.sum(1),
        kept=there_KT.sum(1),
        supervised=count_slots(layout.place_R, torch.ones_like(layout.place_R, dtype=torch.bool), steps),
    )


class _HeadLoss(torch.autograd.Function):
    """Head, softmax and cross-entropy in one: logits live for `rows` rows at a time and are never kept.

    Row m is compared with teacher row m modulo T: the steps follow each other, each with every kept row.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden_MH: Tensor, head_DH: Tensor, teacher_TD: Tensor, best_T: Tensor, weight_M: Tensor, rows: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        losses = torch.empty(hidden_MH.shape[0], dtype=torch.float32, device=hidden_MH.device)
        right = torch.empty(hidden_MH.shape[0], dtype=torch.bool, device=hidden_MH.device)
        needed = any(ctx.needs_input_grad[:2])
        d_hidden = torch.empty_like(hidden_MH) if needed else None
        d_head = None
        for start, end in _parts(hidden_MH.shape[0], teacher_TD.shape[0], rows, hidden_MH.is_cuda):
            logits = torch.matmul(hidden_MH[start:end], head_DH.t())
            outs = losses[start:end], right[start:end]
            d_logits = _row_losses(logits, teacher_TD, best_T, start, weight_M[start:end], outs, needed)
            if d_hidden is not None:
                torch.matmul(d_logits, head_DH, out=d_hidden[start:end])
                d_head = _add_product(d_head, d_logits.t(), hidden_MH[start:end], whole=end - start == len(losses))
        if d_hidden is not None:
            d_head = torch.zeros_like(head_DH) if d_head is None else d_head.to(head_DH.dtype)
            ctx.save_for_backward(d_hidden, d_head)
        ctx.mark_non_differentiable(losses, right)
        return (losses * weight_M).sum(), losses, right

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        d_hidden, d_head = ctx.saved_tensors
        return d_hidden.mul_(grad), d_head.mul_(grad), None, None, None, None


def rows_at_once(wanted: int, model: DraftModel, dtype: torch.dtype) -> int:
    """How many rows of logits, in `dtype`, to hold: as wanted, or (0) as suits the device."""
    if wanted or not model.lm_head.is_cuda:
        return wanted or 2048
    return max(2**30 // (model.shape.draft_vocab_size * dtype.itemsize), 1)


def _parts(count: int, teacher_rows: int, rows: int, across_steps: bool) -> list[tuple[int, int]]:
    """Spans of at most `rows` rows; without `across_steps` none reaches into the next step."""
    size = count if across_steps else teacher_rows
    return [
        (first, min(first + rows, step + size))
        for step in range(0, count, max(size, 1))
        for first in range(step, step + size, rows)
    ]


def _add_product(total: Tensor | None, left: Tensor, right: Tensor, whole: bool) -> Tensor:
    """total + left @ right. Parts add up in fp32; the `whole` needs no sum."""
    if total is None:
        product = torch.matmul(left, right)
        return product if whole else product.float()
    return total.addmm_(left, right) if total.dtype == left.dtype else total.add_(torch.matmul(left, right))


def _row_losses(
    logits: Tensor,
    teacher_TD: Tensor,
    best_T: Tensor,
    start: int,
    weight: Tensor,
    outs: tuple[Tensor, Tensor],
    needed: bool,
) -> Tensor:
    """Fill in losses and whether the first choices agree; returns the gradient of the logits, which are used up."""
    if logits.is_cuda:
        from runner.train import kernels

        return kernels.soft_cross_entropy(logits, teacher_TD, best_T, start, weight, *outs, needed)
    first = start % max(teacher_TD.shape[0], 1)
    rows = slice(first, first + logits.shape[0])
    outs[0][:], outs[1][:], d_logits = soft_cross_entropy(logits.float(), teacher_TD[rows], best_T[rows], weight)
    return d_logits.to(logits.dtype)


def soft_cross_entropy(logits: Tensor, target: Tensor, best: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Row losses -sum p log softmax(z), whether `best` has the highest logit, and d(sum weight * loss)/dz.

    Uses up `logits`.
    """
    top = logits.amax(dim=-1)
    right = logits.gather(-1, best[:, None]).squeeze(-1) == top
    agreed = torch.linalg.vecdot(target, logits)
    share = torch.softmax(logits, dim=-1)
    # log of the normaliser from the largest share, which never underflows
    normaliser = top - share.amax(dim=-1).log()
    return normaliser - agreed, right, share.sub_(target).mul_(weight[:, None])
