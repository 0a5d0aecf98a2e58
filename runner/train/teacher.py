"""The target's own prediction at supervised rows, over the draft vocabulary, once a pack.

The choice of the whole vocabulary (is it inside the draft's?) is asked of every conversation once in a run and
kept: four bytes a row. It is computed a conversation at a time, so that it cannot depend on how packs were filled.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from runner.train.layout import Layout

VOCAB_CHUNK = 32768


@dataclass(frozen=True, kw_only=True)
class TargetHead:
    """The frozen head of the target [V, H], its rows of the draft vocabulary [Vd, H], and the map."""

    full_VH: Tensor
    draft_DH: Tensor
    draft_of_V: Tensor  # int64 [V]: draft id, or -1; in the CPU's memory
    temperature: float = 1.0

    @staticmethod
    def make(full_VH: Tensor, kept_D: Tensor, temperature: float = 1.0) -> "TargetHead":
        """`kept_D`: target ids of the draft vocabulary, ascending. `temperature` of what the drafter is taught."""
        draft_of = torch.full((full_VH.shape[0],), -1, dtype=torch.int64)
        draft_of[kept_D.cpu()] = torch.arange(len(kept_D))
        draft = full_VH[kept_D.to(full_VH.device)].contiguous()
        return TargetHead(full_VH=full_VH, draft_DH=draft, draft_of_V=draft_of, temperature=temperature)


@dataclass(frozen=True, kw_only=True)
class Teacher:
    """Of one pack: which supervised rows are kept [R], on the CPU; of the kept ones [T] where they are in their
    conversation and among the active slots, the best draft id, and the last hidden state."""

    kept_R: Tensor
    place_T: Tensor
    slot_T: Tensor
    best_T: Tensor
    last_TH: Tensor
    head: TargetHead

    @torch.no_grad()
    def probabilities(self) -> Tensor:
        """The target's softmax over the draft vocabulary [T, Vd], fp32, at the temperature that is taught."""
        logits = torch.matmul(self.last_TH, self.head.draft_DH.t())
        if self.head.temperature != 1.0:
            logits = logits.float().div_(self.head.temperature)
        return torch.softmax(logits, dim=-1, dtype=torch.float32)


@torch.no_grad()
def best_ids(last_RH: Tensor, head_VH: Tensor) -> Tensor:
    """The target's first choice [R] over its whole vocabulary, ties to the lower id; logits a chunk at a time."""
    best_value = last_RH.new_full((last_RH.shape[0],), -torch.inf, dtype=torch.float32)
    best = torch.zeros(last_RH.shape[0], dtype=torch.int64, device=last_RH.device)
    for start in range(0, head_VH.shape[0], VOCAB_CHUNK):
        value, index = torch.matmul(last_RH, head_VH[start : start + VOCAB_CHUNK].t()).float().max(dim=-1)
        better = value > best_value
        best = torch.where(better, index + start, best)
        best_value = torch.where(better, value, best_value)
    return best


@torch.no_grad()
def teach(last_RH: Tensor, best_R: Tensor, head: TargetHead, layout: Layout) -> Teacher:
    """The teacher of a pack from the last hidden states of its supervised rows and their first choices.

    `best` and `layout` in the CPU's memory: what is kept is known there, and the GPU need not be asked.
    """
    draft_best = head.draft_of_V[best_R]
    kept = draft_best >= 0
    place, slot, best, rows = (
        x.to(last_RH.device, non_blocking=True)
        for x in (layout.place_R[kept], layout.slot_R[kept], draft_best[kept], kept.nonzero().flatten())
    )
    return Teacher(
        kept_R=kept, place_T=place, slot_T=slot, best_T=best,
        last_TH=last_RH.index_select(0, rows), head=head,
    )  # fmt: skip
