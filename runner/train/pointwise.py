"""The small operations of the draft layer, each one pass over memory: Triton kernels on a GPU, PyTorch on a CPU."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from runner.train.layout import Layout


def _kernels() -> Any:
    from runner.train import kernels  # Triton: only where there is a GPU

    return kernels


def rotate(source_AW: Tensor, out_AW: Tensor, cos_AF: Tensor, sin_AF: Tensor) -> None:
    """Turn rows of heads [A, heads * 2F] by angles [A, F], halves as Llama pairs them. May work in place."""
    if source_AW.is_cuda:
        _kernels().rotate(source_AW, out_AW, cos_AF, sin_AF)
        return
    half = cos_AF.shape[1]
    given, out = (x.view(x.shape[0], -1, 2 * half) for x in (source_AW, out_AW))
    cos, sin = cos_AF[:, None].to(given.dtype), sin_AF[:, None].to(given.dtype)
    first, second = given[..., :half], given[..., half:]
    turned = torch.mul(first, cos).addcmul_(second, sin, value=-1)
    out[..., half:] = torch.mul(second, cos).addcmul_(first, sin)
    out[..., :half] = turned


def swiglu(gate_up_AI: Tensor, out_AI: Tensor) -> None:
    """silu(gate) * up, of [A, 2 I] into [A, I]."""
    if gate_up_AI.is_cuda:
        _kernels().swiglu(gate_up_AI, out_AI)
        return
    gate, up = gate_up_AI.chunk(2, dim=1)
    torch.mul(F.silu(gate), up, out=out_AI)


def swiglu_backward(grad_AI: Tensor, gate_up_AI: Tensor) -> None:
    """The gradient of `gate_up`, in its place."""
    if grad_AI.is_cuda:
        _kernels().swiglu_backward(grad_AI, gate_up_AI)
        return
    gate, up = gate_up_AI.chunk(2, dim=1)
    d_gate = torch.ops.aten.silu_backward(grad_AI * up, gate)
    torch.mul(F.silu(gate), grad_AI, out=up)
    gate.copy_(d_gate)


def add_embedded(d_qkv_KAW: Tensor, d_kv0_NW: Tensor, layout: Layout) -> Tensor:
    """The gradient [N, qkv] of the embedding half of q, k, v, which every step read a slot further on.

    d_qkv [K, A, qkv]; of step 0 its q alone counts: its keys and values are those of every row, d_kv0 [N, k and v].
    """
    if d_qkv_KAW.is_cuda:
        made: Tensor = _kernels().add_embedded(d_qkv_KAW, d_kv0_NW, layout.slot_of_N)
        return made
    steps, rows, width = d_qkv_KAW.shape[0], d_kv0_NW.shape[0], d_qkv_KAW.shape[2]
    q_width = width - d_kv0_NW.shape[1]
    out = d_kv0_NW.new_zeros(rows + steps, width)
    out[1 : rows + 1, q_width:] = d_kv0_NW
    out[:, :q_width].index_add_(0, layout.active_A + 1, d_qkv_KAW[0, :, :q_width])
    for step in range(1, steps):
        out.index_add_(0, layout.active_A + (step + 1), d_qkv_KAW[step])
    return out[:rows]
