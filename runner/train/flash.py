"""Attention of training-time test on a GPU: FlashAttention over step 0, joined with the own slots' later scores.

FlashAttention's backward pass needs the output and the log of the normaliser. Given those of the *joined* softmax
instead of its own, it yields exactly the gradients that belong to step 0's keys; the other scores are one number a
slot and head, and theirs is written out. Conversations are kept apart by their lengths, heads may share keys.
"""

import math
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from runner.train.layout import Layout


class FlashTTT(torch.autograd.Function):
    """The half-precision CUDA form of `attention.ttt_attention`."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k0: Tensor, v0: Tensor, layout: Layout, *own: Tensor) -> Tensor:
        steps = len(own) // 2
        scale = 1 / math.sqrt(q.shape[2])
        lengths = _lengths(layout, q.device)
        out0, lse0_HA, state, unused, _ = torch.ops.aten._flash_attention_forward(
            q, k0, v0, *lengths, 0.0, True, False, scale=scale
        )
        out, lse_AH = _pointwise(_join)(q, out0, lse0_HA.t(), list(own[:steps]), list(own[steps:]), scale)
        ctx.save_for_backward(q, k0, v0, out, lse_AH, state, unused, *own)
        ctx.layout, ctx.steps = layout, steps
        joined: Tensor = out
        return joined

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k0, v0, out, lse_AH, state, unused, *own = ctx.saved_tensors
        steps, scale = ctx.steps, 1 / math.sqrt(q.shape[2])
        lengths = _lengths(ctx.layout, q.device)
        grad = grad.contiguous()
        dq0, dk0, dv0 = torch.ops.aten._flash_attention_backward(
            grad, q, k0, v0, out, lse_AH.t().contiguous(), *lengths, 0.0, True, state, unused, scale=scale
        )
        dq, d_own = _pointwise(_part)(q, grad, out, lse_AH, dq0, own[:steps], own[steps:], scale)
        return (dq, dk0, dv0, None, *d_own)


def _lengths(layout: Layout, device: torch.device) -> tuple[Tensor, Tensor, int, int]:
    """Starts of queries and keys, and the longest of each. Queries are the last of their conversation's rows."""
    starts = [
        torch.tensor(s, dtype=torch.int32).to(device, non_blocking=True)
        for s in (layout.active_starts, layout.row_starts)
    ]
    longest = [max(b - a for a, b in pairwise(s)) for s in (layout.active_starts, layout.row_starts)]
    return starts[0], starts[1], longest[0], longest[1]


@cache
def _pointwise(function: Any) -> Any:
    """Compiled on a GPU: each is one pass over memory instead of a dozen."""
    return torch.compile(function, dynamic=True)


def _grouped(x_AHD: Tensor, groups: int) -> Tensor:
    """[A, heads, D] as [A, kv heads, heads of one, D], fp32."""
    return x_AHD.view(x_AHD.shape[0], groups, -1, x_AHD.shape[2]).float()


def _join(
    q: Tensor, out0: Tensor, lse0_AH: Tensor, own_k: list[Tensor], own_v: list[Tensor], scale: float
) -> tuple[Tensor, Tensor]:
    """Output and log-normaliser of the softmax over both kinds of keys."""
    if not own_k:
        return out0, lse0_AH.contiguous()
    groups = own_k[0].shape[1]
    q_f, lse0 = _grouped(q, groups), lse0_AH.reshape(q.shape[0], groups, -1)
    scores = [(q_f * k.unsqueeze(2).float()).sum(-1) * scale for k in own_k]
    lse = lse0
    for score in scores:
        lse = torch.logaddexp(lse, score)
    out = _grouped(out0, groups) * torch.exp(lse0 - lse)[..., None]
    for score, v in zip(scores, own_v, strict=True):
        out = out + torch.exp(score - lse)[..., None] * v.unsqueeze(2).float()
    return out.to(q.dtype).view_as(q), lse.reshape_as(lse0_AH)


def _part(
    q: Tensor,
    grad: Tensor,
    out: Tensor,
    lse_AH: Tensor,
    dq0: Tensor,
    own_k: list[Tensor],
    own_v: list[Tensor],
    scale: float,
) -> tuple[Tensor, list[Tensor]]:
    """Gradients through the own slots' scores: ds = p (dO v - dO O)."""
    if not own_k:
        return dq0, []
    groups = own_k[0].shape[1]
    q_f, grad_f, dq = _grouped(q, groups), _grouped(grad, groups), _grouped(dq0, groups)
    lse = lse_AH.reshape(q.shape[0], groups, -1)
    total = (grad_f * _grouped(out, groups)).sum(-1)
    d_k, d_v = [], []
    for k, v in zip(own_k, own_v, strict=True):
        weight = torch.exp((q_f * k.unsqueeze(2).float()).sum(-1) * scale - lse)
        d_score = weight * ((grad_f * v.unsqueeze(2).float()).sum(-1) - total) * scale
        dq = dq + d_score[..., None] * k.unsqueeze(2).float()
        d_k.append((d_score[..., None] * q_f).sum(2).to(k.dtype))
        d_v.append((weight[..., None] * grad_f).sum(2).to(v.dtype))
    return dq.to(q.dtype).view_as(q), [*d_k, *d_v]
