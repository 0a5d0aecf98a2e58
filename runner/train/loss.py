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
    model: DraftModel, states: list[Tensor], teacher: Teacher, layout: Layout, weights_K: Tensor, rows: int
) -> tuple[Tensor, StepSums]:
    """The pack's part of the loss: over steps k, weights[k] times the sum of the cross-entropies of its slots.

    `weights[k]` is decay^k over the number of kept slots of the whole optimizer step, all packs and ranks together;
    so the mean is over the slots that are supervised and whose teacher lies in the draft vocabulary.
    """
    chosen = [step_slots(layout, step, teacher.kept_R) for step in range(len(states))]
    hidden = torch.cat([state.index_select(0, slot) for state, (slot, _) in zip(states, chosen, strict=True)])
    counts = torch.tensor([len(slot) for slot, _ in chosen], device=hidden.device)
    step_M = torch.repeat_interleave(torch.arange(len(states), device=hidden.device), counts)
    teacher_M = torch.cat([index for _, index in chosen])
    total, losses_M, best_M = _HeadLoss.apply(  # type: ignore[no-untyped-call]
        model.normed(hidden), model.lm_head, teacher, teacher_M, weights_K.index_select(0, step_M), rows
    )
    correct_M = (best_M == teacher.best_T.index_select(0, teacher_M)).to(losses_M.dtype)
    sums = losses_M.new_zeros(2, len(states)).index_add_(1, step_M, torch.stack([losses_M, correct_M]))
    supervised = count_slots(layout.place_R, torch.ones_like(teacher.kept_R), len(states))
    return total, StepSums(loss=sums[0], correct=sums[1], kept=counts, supervised=supervised)


class _HeadLoss(torch.autograd.Function):
    """Head, softmax and cross-entropy in one: logits live for `rows` rows at a time and are never kept."""

    @staticmethod
    def forward(
        ctx: Any, hidden_MH: Tensor, head_VH: Tensor, teacher: Teacher, teacher_M: Tensor, weight_M: Tensor, rows: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        count = hidden_MH.shape[0]
        losses = torch.empty(count, dtype=torch.float32, device=hidden_MH.device)
        best = torch.empty(count, dtype=torch.int64, device=hidden_MH.device)
        needed = any(ctx.needs_input_grad[:2])
        d_hidden = torch.empty_like(hidden_MH) if needed else None
        d_head = torch.zeros(head_VH.shape, dtype=torch.float32, device=head_VH.device) if needed else None
        for start in range(0, count, rows):
            part = slice(start, min(start + rows, count))
            logits = torch.matmul(hidden_MH[part], head_VH.t()).float()
            target = teacher.probabilities_TD.index_select(0, teacher_M[part])
            losses[part], best[part], d_logits = soft_cross_entropy(logits, target, weight_M[part])
            if d_hidden is not None and d_head is not None:
                d_logits = d_logits.to(head_VH.dtype)
                torch.matmul(d_logits, head_VH, out=d_hidden[part])
                if d_head.dtype == d_logits.dtype:
                    d_head.addmm_(d_logits.t(), hidden_MH[part])
                else:
                    d_head += torch.matmul(d_logits.t(), hidden_MH[part])
        if d_hidden is not None and d_head is not None:
            ctx.save_for_backward(d_hidden, d_head.to(head_VH.dtype))
        ctx.mark_non_differentiable(losses, best)
        return (losses * weight_M).sum(), losses, best

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        d_hidden, d_head = ctx.saved_tensors
        return d_hidden * grad.to(d_hidden.dtype), d_head * grad.to(d_head.dtype), None, None, None, None


def soft_cross_entropy(logits: Tensor, target: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Row losses -sum p log softmax(z), the best id of each row, and d(sum weight * loss)/dz. Uses up `logits`."""
    top, best = logits.max(dim=-1)
    agreed = torch.linalg.vecdot(target, logits)
    share = torch.softmax(logits, dim=-1)
    # log of the normaliser from the largest share, which never underflows
    normaliser = top - share.gather(-1, best[:, None]).squeeze(-1).log()
    return normaliser - agreed, best, share.sub_(target).mul_(weight[:, None])
