"""Every Triton kernel against its plain counterpart, run by `test_kernels` with Triton's interpreter, on a CPU."""

import math

import numpy as np
import torch

from runner.train import attention, kernels, pointwise
from runner.train.layout import lay_out
from runner.train.loss import soft_cross_entropy


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(torch.allclose(a, b, rtol=1e-5, atol=2e-6))


def check_loss() -> None:
    taught, rows, width = 5, 15, 9000  # more than one block of columns
    logits, weight = torch.randn(rows, width) * 3, torch.rand(rows)
    teacher, choices = torch.softmax(torch.randn(taught, width), -1), torch.randint(width, (taught,))
    logits[[3, 9], choices[[3, 1]]] = 40.0  # of each start, one row is right
    for start in (0, 7):
        of = (torch.arange(rows) + start) % taught
        wanted = soft_cross_entropy(logits.clone(), teacher[of], choices[of], weight)
        losses, right = torch.empty(rows), torch.empty(rows, dtype=torch.bool)
        made = kernels.soft_cross_entropy(logits.clone(), teacher, choices, start, weight, losses, right, True)
        assert torch.allclose(losses, wanted[0], rtol=1e-5) and torch.equal(right, wanted[1]) and right.sum() == 1
        assert torch.allclose(made, wanted[2], atol=1e-6)


def check_pointwise() -> None:
    slots, heads, half = 6, 3, 5
    source = torch.randn(slots, heads * 2 * half + 7)[:, : heads * 2 * half]
    cos, sin, plain, made = torch.randn(slots, half), torch.randn(slots, half), *torch.empty(2, slots, heads * 2 * half)
    pointwise.rotate(source.contiguous(), plain, cos, sin)
    kernels.rotate(source, made, cos, sin)
    assert close(plain, made)
    gate_up, grad = torch.randn(slots, 2 * 1100), torch.randn(slots, 1100)
    plain, made = torch.empty(2, slots, 1100)
    pointwise.swiglu(gate_up, plain)
    kernels.swiglu(gate_up, made)
    assert close(plain, made)
    plain, made = gate_up.clone(), gate_up.clone()
    pointwise.swiglu_backward(grad, plain)
    kernels.swiglu_backward(grad, made)
    assert close(plain, made)
    layout = lay_out([np.array([0] * 12 + [1] * 6, dtype=np.uint8), np.array([0, 1, 1], dtype=np.uint8)], 4)
    d_qkv, d_kv0 = torch.randn(4, layout.num_active, 10), torch.randn(layout.num_rows, 6)
    assert close(pointwise.add_embedded(d_qkv, d_kv0, layout), kernels.add_embedded(d_qkv, d_kv0, layout.slot_of_N))


def check_own_slots(heads: int, groups: int) -> None:
    """`join` and `part` around a plain attention over step 0, against the whole."""
    layout = lay_out([np.array([0] + [1] * 20, dtype=np.uint8)], 4)
    slots, dim, steps = layout.num_active, 6, 3
    repeats, scale = heads // groups, 1 / math.sqrt(dim)
    q, grad = torch.randn(2, slots, heads, dim)
    k0, v0, own_k, own_v = *torch.randn(2, slots, groups, dim), *torch.randn(2, steps, slots, groups, dim)
    keys = (k0, v0, own_k, own_v)
    out, out0, joined = torch.empty(3, slots, heads, dim)
    kept = attention.attend(q, keys, layout, out)
    attention.attend(q, (k0, v0, own_k[:0], own_v[:0]), layout, out0)
    wide_k, wide_v = k0.repeat_interleave(repeats, 1), v0.repeat_interleave(repeats, 1)
    scores = torch.einsum("ahd,nhd->han", q, wide_k) * scale
    scores = scores.masked_fill(~torch.ones(slots, slots).tril().bool(), -math.inf)
    lse = scores.logsumexp(-1).contiguous()
    kernels.join(q, out0, lse, own_k, own_v, scale, joined)
    assert close(joined, out)
    wanted = tuple(torch.zeros_like(each) for each in keys)
    dq = attention.attend_backward(grad, q, keys, out, kept, layout, wanted)
    d_weights = torch.einsum("ahd,nhd->han", grad, wide_v) - (grad * out).sum(-1).t()[..., None]
    made = torch.einsum("han,nhd->ahd", torch.exp(scores - lse[..., None]) * d_weights, wide_k).contiguous() * scale
    d_own = torch.zeros_like(own_k), torch.zeros_like(own_v)
    kernels.part(q, grad, out, lse, made, own_k, own_v, scale, *d_own)
    assert close(made, dq) and close(d_own[0], wanted[2]) and close(d_own[1], wanted[3])


def check_adamw() -> None:
    master, mean, square = torch.randn(5000), torch.randn(5000), torch.rand(5000)
    grad = torch.randn(5000).bfloat16()
    weight = torch.empty_like(grad)
    plain = torch.nn.Parameter(master.clone())
    adam = torch.optim.AdamW([plain], lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.3)
    adam.state[plain] = {"step": torch.tensor(3.0), "exp_avg": mean.clone(), "exp_avg_sq": square.clone()}
    plain.grad = grad.float() * 0.7
    adam.step()
    scalars = torch.tensor([0.7, 0.1, 1 - 0.1 * 0.3, 1 - 0.9**4, 1 - 0.95**4])
    kernels.adamw(master, weight, grad, mean, square, scalars, 0.9, 0.95, 1e-8)
    assert close(master, plain.detach()) and torch.allclose(weight.float(), master, rtol=2**-7)  # it truncates here


if __name__ == "__main__":
    torch.manual_seed(0)
    check_loss()
    check_pointwise()
    check_own_slots(4, 2)
    check_own_slots(3, 3)
    check_adamw()
    print("kernels agree")
