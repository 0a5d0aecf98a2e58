"""Attention of training-time test on a GPU: FlashAttention over step 0, joined with the own slots' later scores.

FlashAttention's backward pass needs the output and the log of the normaliser. Given those of the *joined* softmax
instead of its own, it yields exactly the gradients that belong to step 0's keys; the other scores are one number a
slot and head, and theirs is written out. Conversations are kept apart by their lengths, heads may share keys.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from runner.train import kernels
from runner.train.attention import Keys
from runner.train.layout import Layout


def attend(q_AHD: Tensor, keys: Keys, layout: Layout, out_AHD: Tensor) -> list[Tensor]:
    """As `attention.attend`, in half precision."""
    k0, v0, own_k, own_v = keys
    scale = 1 / math.sqrt(q_AHD.shape[2])
    out0, lse_HA, state, unused, _ = torch.ops.aten._flash_attention_forward(
        q_AHD, k0, v0, *_lengths(layout), 0.0, True, False, scale=scale
    )
    if len(own_k):
        kernels.join(q_AHD, out0, lse_HA, own_k, own_v, scale, out_AHD)
    else:
        out_AHD.copy_(out0)
    return [lse_HA, state, unused]


def attend_backward(
    grad_AHD: Tensor, q_AHD: Tensor, keys: Keys, out_AHD: Tensor, kept: Sequence[Tensor], layout: Layout, d_keys: Keys
) -> Tensor:
    """As `attention.attend_backward`."""
    k0, v0, own_k, own_v = keys
    lse_HA, state, unused = kept
    scale = 1 / math.sqrt(q_AHD.shape[2])
    dq, dk0, dv0 = torch.ops.aten._flash_attention_backward(
        grad_AHD, q_AHD, k0, v0, out_AHD, lse_HA, *_lengths(layout), 0.0, True, state, unused, scale=scale
    )
    d_keys[0].add_(dk0)
    d_keys[1].add_(dv0)
    if len(own_k):
        kernels.part(q_AHD, grad_AHD, out_AHD, lse_HA, dq, own_k, own_v, scale, d_keys[2], d_keys[3])
    return torch.as_tensor(dq)


def _lengths(layout: Layout) -> tuple[Tensor, Tensor, int, int]:
    """Starts of queries and keys, and the longest of each. Queries are the last of their conversation's rows."""
    return layout.active_starts_C, layout.row_starts_C, layout.longest_active, layout.longest_rows
