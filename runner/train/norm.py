"""RMSNorm, forward and backward: PyTorch's kernels on a GPU; written out on a CPU, where its own is a long chain."""

from typing import Any

import torch
from torch import Tensor


def norm_forward(x_NH: Tensor, weight_H: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """x over its root mean square, times weight; and the inverse of that root [N, 1], for the backward pass."""
    if x_NH.is_cuda:
        out, inverse = torch.ops.aten._fused_rms_norm(x_NH, [x_NH.shape[-1]], weight_H, eps)
        return out, inverse
    inverse = torch.linalg.vecdot(x_NH, x_NH).div_(x_NH.shape[-1]).add_(eps).rsqrt_()[:, None]
    return (x_NH * inverse).mul_(weight_H), inverse


def norm_backward(grad_NH: Tensor, x_NH: Tensor, weight_H: Tensor, inverse_N1: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the weight (the latter in fp32 on a CPU, in the weight's dtype on a GPU)."""
    if x_NH.is_cuda:
        d_x, d_weight = torch.ops.aten._fused_rms_norm_backward(
            grad_NH, x_NH, [x_NH.shape[-1]], inverse_N1, weight_H, [True, True]
        )
        return d_x, d_weight
    normed = x_NH * inverse_N1
    d_weight = torch.linalg.vecdot(grad_NH, normed, dim=0)
    d_normed = grad_NH * weight_H
    along = torch.linalg.vecdot(d_normed, normed).div_(-x_NH.shape[-1])[:, None]
    return d_normed.addcmul_(normed, along).mul_(inverse_N1), d_weight


def rms_norm(x_NH: Tensor, weight_H: Tensor, eps: float) -> Tensor:
    """The same for autograd."""
    out: Tensor = _RMSNorm.apply(x_NH, weight_H, eps)  # type: ignore[no-untyped-call]
    return out


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        out, inverse = norm_forward(x, weight, eps)
        ctx.save_for_backward(x, weight, inverse)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        return *norm_backward(grad, *ctx.saved_tensors), None
