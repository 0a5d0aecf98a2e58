"""Attention of training-time test: causal over the keys of step 0, only the own slot of every later step.

The mask of all steps together would be [T, T (k + 1)]; it is never built. Scores against step 0 are causal within
each conversation, and each later step adds one score a slot. Here in plain matrix products, one block of queries
after another; `runner.train.flash` has the form for GPUs.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from runner.train.layout import Layout

QUERY_BLOCK = (
    128  # rows of queries that share one set of keys on the CPU: above it causality saves, below it GEMMs shrink
)

# k0, v0 [N, kv heads, D] of step 0; own k, v [S, A, kv heads, D]: those of every later step up to the one at hand
Keys = tuple[Tensor, Tensor, Tensor, Tensor]


def attend(q_AHD: Tensor, keys: Keys, layout: Layout, out_AHD: Tensor) -> list[Tensor]:
    """Attend from the active slots of one step, into `out`. RoPE is already in q and k.

    Returns the weights for the backward pass, those of the own slots first: on a CPU memory is cheaper than
    computing them again.
    """
    k0, v0, own_k, own_v = keys
    groups, dim = k0.shape[1], q_AHD.shape[2]
    q_GRAD = _by_group(q_AHD * (1 / math.sqrt(dim)), groups)  # heads that share keys are one taller matrix
    own_weights = [(q_GRAD * _one_head(k)).sum(-1) for k in own_k]  # scores as yet
    out = torch.empty_like(q_GRAD)
    kept = []
    for first, end, key, key_end in _blocks(layout):
        weights = _block_weights(q_GRAD, k0, own_weights, (first, end, key, key_end))
        block = torch.matmul(weights, v0[key:key_end].transpose(0, 1))
        out[:, :, first:end] = block.view(groups, -1, end - first, dim)
        kept.append(weights)
    for weight, value in zip(own_weights, own_v, strict=True):
        out.addcmul_(weight[..., None], _one_head(value))
    out_AHD.view(-1, groups, q_GRAD.shape[1], dim).copy_(out.permute(2, 0, 1, 3))
    return [*own_weights, *kept]


def attend_backward(
    grad_AHD: Tensor, q_AHD: Tensor, keys: Keys, out_AHD: Tensor, kept: Sequence[Tensor], layout: Layout, d_keys: Keys
) -> Tensor:
    """The gradient of q; those of the keys and values add to `d_keys`. `out`, `kept`: what `attend` made."""
    k0, v0 = keys[:2]
    dk0, dv0, d_own_k, d_own_v = d_keys
    groups, dim = k0.shape[1], q_AHD.shape[2]
    q_GRAD, grad_GRAD = _by_group(q_AHD * (1 / math.sqrt(dim)), groups), _by_group(grad_AHD, groups)
    # softmax backward over both kinds of keys: ds = p (dp - sum p dp), and that sum is what the output says of it
    total_GRA = torch.linalg.vecdot(grad_GRAD, _by_group(out_AHD, groups))
    dq = torch.empty_like(q_GRAD)
    steps = len(keys[2])
    for weights, (first, end, key, key_end) in zip(kept[steps:], _blocks(layout), strict=True):
        grad_block = grad_GRAD[:, :, first:end].reshape(groups, -1, dim)
        dv0[key:key_end] += torch.matmul(weights.transpose(1, 2), grad_block).transpose(0, 1)
        dscores = torch.matmul(grad_block, v0[key:key_end].permute(1, 2, 0))
        dscores.sub_(total_GRA[:, :, first:end].reshape(groups, -1, 1)).mul_(weights)
        block = torch.matmul(dscores, k0[key:key_end].transpose(0, 1))
        dq[:, :, first:end] = block.view(groups, -1, end - first, dim)
        q_block = q_GRAD[:, :, first:end].reshape(groups, -1, dim)
        dk0[key:key_end] += torch.matmul(dscores.transpose(1, 2), q_block).transpose(0, 1)
    for step in range(steps):
        weight, k, v = kept[step], _one_head(keys[2][step]), _one_head(keys[3][step])
        dscore = (grad_GRAD * v).sum(-1).sub_(total_GRA).mul_(weight)
        dq.addcmul_(dscore[..., None], k)
        for repeat in range(q_GRAD.shape[1]):
            d_own_k[step].transpose(0, 1).addcmul_(dscore[:, repeat, :, None], q_GRAD[:, repeat])
            d_own_v[step].transpose(0, 1).addcmul_(weight[:, repeat, :, None], grad_GRAD[:, repeat])
    return _by_slot(dq.mul_(1 / math.sqrt(dim)))


def _blocks(layout: Layout) -> list[tuple[int, int, int, int]]:
    """(first query, end of queries, first key, end of keys); the last query of a block sees all of its keys."""
    blocks = []
    spans = zip(layout.row_starts, layout.row_starts[1:], layout.active_starts, layout.active_starts[1:], strict=False)
    for row, row_end, active, active_end in spans:
        for first in range(active, active_end, QUERY_BLOCK):
            end = min(first + QUERY_BLOCK, active_end)
            blocks.append((first, end, row, row_end - (active_end - end)))
    return blocks


def _by_group(x_AHD: Tensor, groups: int) -> Tensor:
    """[A, heads, D] as [kv heads, heads of one, A, D], contiguous."""
    slots, heads, dim = x_AHD.shape
    return x_AHD.view(slots, groups, heads // groups, dim).permute(1, 2, 0, 3).contiguous()


def _by_slot(x_GRAD: Tensor) -> Tensor:
    groups, repeats, slots, dim = x_GRAD.shape
    return x_GRAD.permute(2, 0, 1, 3).reshape(slots, groups * repeats, dim)


def _one_head(x_AGD: Tensor) -> Tensor:
    """[A, kv heads, D] as [kv heads, 1, A, D], to stand beside `_by_group`."""
    return x_AGD.transpose(0, 1).unsqueeze(1)


def _block_weights(
    q_GRAD: Tensor, k0_NGD: Tensor, own_scores: Sequence[Tensor], block: tuple[int, int, int, int]
) -> Tensor:
    """Softmax of one block over step 0's keys [G, R n, keys] and the slot's own later keys, into `own_scores`."""
    first, end, key, key_end = block
    groups, repeats, _, dim = q_GRAD.shape
    count, keys, own = end - first, key_end - key, len(own_scores)
    wide = torch.nn.functional.pad(k0_NGD[key:key_end].permute(1, 2, 0), (0, own))  # room for the own scores
    flat = torch.matmul(q_GRAD[:, :, first:end].reshape(groups, -1, dim), wide)
    scores = flat.view(groups, repeats, count, keys + own)
    scores[..., keys - count : keys] += scores.new_full((count, count), -math.inf).triu_(1)
    for number, score in enumerate(own_scores):
        scores[..., keys + number] = score[:, :, first:end]
    weights = torch.softmax(flat, dim=-1)
    for number, score in enumerate(own_scores):
        score[:, :, first:end] = weights.view_as(scores)[..., keys + number]
    return weights[..., :keys]
