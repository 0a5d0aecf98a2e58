"""Triton kernels of training on a GPU. Each has its plain counterpart in `pointwise`, `loss`, `attention`, `optimizer`.

`TRITON_INTERPRET=1` runs them on a CPU: so they are tested without a GPU.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,import-untyped,attr-defined"
import triton
import triton.language as tl
from torch import Tensor


def soft_cross_entropy(
    logits_MD: Tensor, teacher_TD: Tensor, best_T: Tensor, start: int, weight_M: Tensor, losses_M: Tensor,
    right_M: Tensor, grad: bool,
) -> Tensor:  # fmt: skip
    """Losses of rows, and whether their first choice is the teacher's. Returns the logits, with `grad` their gradient
    in their place."""
    rows, width = logits_MD.shape
    if rows:
        block = min(triton.next_power_of_2(width), 8192)
        _soft_cross_entropy[(rows,)](
            logits_MD, teacher_TD, best_T, weight_M, losses_M, right_M, start, teacher_TD.shape[0], width,
            logits_MD.stride(0), teacher_TD.stride(0), grad, block, num_warps=8 if block >= 4096 else 4,
        )  # fmt: skip
    return logits_MD


@triton.jit
def _soft_cross_entropy(
    logits, teacher, best, weight, losses, right, start, teacher_rows, width, logits_stride, teacher_stride,
    GRAD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0)
    row = logits + number.to(tl.int64) * logits_stride
    given = teacher + ((start + number) % teacher_rows).to(tl.int64) * teacher_stride
    peak = -float("inf")
    total = 0.0
    agreed = 0.0
    index = 0
    for first in range(0, width, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        inside = columns < width
        z = tl.load(row + columns, mask=inside, other=-float("inf")).to(tl.float32)
        p = tl.load(given + columns, mask=inside, other=0.0)
        top = tl.max(z, axis=0)
        at = tl.min(tl.where(z == top, columns, width), axis=0)
        index = tl.where(top > peak, at, index)
        higher = tl.maximum(peak, top)
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(z - higher), axis=0)
        agreed += tl.sum(tl.where(inside, p * z, 0.0), axis=0)
        peak = higher
    normaliser = peak + tl.log(total)
    tl.store(losses + number, normaliser - agreed)
    chosen = tl.load(best + (start + number) % teacher_rows)
    tl.store(right + number, index.to(tl.int64) == chosen)
    if GRAD:
        scale = tl.load(weight + number)
        for first in range(0, width, BLOCK):
            columns = first + tl.arange(0, BLOCK)
            inside = columns < width
            z = tl.load(row + columns, mask=inside, other=-float("inf")).to(tl.float32)
            p = tl.load(given + columns, mask=inside, other=0.0)
            d = (tl.exp(z - normaliser) - p) * scale
            tl.store(row + columns, d.to(logits.dtype.element_ty), mask=inside)


def rotate(source_AW: Tensor, out_AW: Tensor, cos_AF: Tensor, sin_AF: Tensor) -> None:
    half = cos_AF.shape[1]
    heads = source_AW.shape[1] // (2 * half)
    block = min(triton.next_power_of_2(heads), 16)
    _rotate[(source_AW.shape[0], triton.cdiv(heads, block))](
        source_AW, out_AW, cos_AF.contiguous(), sin_AF.contiguous(), source_AW.stride(0), out_AW.stride(0), heads,
        half, block, triton.next_power_of_2(half),
    )  # fmt: skip


@triton.jit
def _rotate(
    source, out, cos, sin, source_stride, out_stride, heads, HALF: tl.constexpr, HEADS: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    column = tl.arange(0, COLUMNS)
    inside = (head[:, None] < heads) & (column[None, :] < HALF)
    place = head[:, None] * (2 * HALF) + column[None, :]
    c = tl.load(cos + row * HALF + column, mask=column < HALF, other=0.0)[None, :]
    s = tl.load(sin + row * HALF + column, mask=column < HALF, other=0.0)[None, :]
    first = tl.load(source + row * source_stride + place, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(source + row * source_stride + place + HALF, mask=inside, other=0.0).to(tl.float32)
    kind = out.dtype.element_ty
    tl.store(out + row * out_stride + place, (first * c - second * s).to(kind), mask=inside)
    tl.store(out + row * out_stride + place + HALF, (second * c + first * s).to(kind), mask=inside)


def swiglu(gate_up_AI: Tensor, out_AI: Tensor) -> None:
    slots, inner = out_AI.shape
    _swiglu[(slots, triton.cdiv(inner, 1024))](gate_up_AI, out_AI, inner, 1024)


@triton.jit
def _swiglu(gate_up, out, inner, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < inner
    gate = tl.load(gate_up + row * 2 * inner + column, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * inner + inner + column, mask=inside, other=0.0).to(tl.float32)
    value = gate / (1 + tl.exp(-gate)) * up
    tl.store(out + row * inner + column, value.to(out.dtype.element_ty), mask=inside)


def swiglu_backward(grad_AI: Tensor, gate_up_AI: Tensor) -> None:
    slots, inner = grad_AI.shape
    _swiglu_backward[(slots, triton.cdiv(inner, 1024))](grad_AI, gate_up_AI, inner, 1024)


@triton.jit
def _swiglu_backward(grad, gate_up, inner, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < inner
    place = gate_up + row * 2 * inner + column
    d = tl.load(grad + row * inner + column, mask=inside, other=0.0).to(tl.float32)
    gate = tl.load(place, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(place + inner, mask=inside, other=0.0).to(tl.float32)
    share = 1 / (1 + tl.exp(-gate))
    kind = gate_up.dtype.element_ty
    tl.store(place, (d * up * share * (1 + gate * (1 - share))).to(kind), mask=inside)
    tl.store(place + inner, (d * gate * share).to(kind), mask=inside)


def add_embedded(d_qkv_KAW: Tensor, d_kv0_NW: Tensor, slot_of_N: Tensor) -> Tensor:
    steps, slots, width = d_qkv_KAW.shape
    rows, kv_width = d_kv0_NW.shape
    out = d_kv0_NW.new_empty(rows, width)
    _add_embedded[(rows, triton.cdiv(width, 1024))](
        d_qkv_KAW, d_kv0_NW, slot_of_N, out, slots, width, kv_width, steps, 1024
    )
    return out


@triton.jit
def _add_embedded(
    d_qkv, d_kv0, slot_of, out, slots, width, kv_width, STEPS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    of_q = column < width - kv_width
    before = tl.maximum(row - 1, 0).to(tl.int64)
    total = tl.load(
        d_kv0 + before * kv_width + column - (width - kv_width), mask=inside & (column >= width - kv_width) & (row > 0),
        other=0.0,
    ).to(tl.float32)  # fmt: skip
    for step in tl.static_range(STEPS):
        source = row - (step + 1)
        slot = tl.load(slot_of + tl.maximum(source, 0)).to(tl.int64)
        there = inside & (source >= 0) & (slot >= 0)
        if step == 0:
            there = there & of_q
        place = d_qkv + (step * slots + tl.maximum(slot, 0)) * width + column
        total += tl.load(place, mask=there, other=0.0).to(tl.float32)
    tl.store(out + row.to(tl.int64) * width + column, total.to(out.dtype.element_ty), mask=inside)


SLOTS = 16  # of one program of the kernels below


def join(
    q_AHD: Tensor, out0_AHD: Tensor, lse_HA: Tensor, own_k_SAGD: Tensor, own_v_SAGD: Tensor, scale: float,
    out_AHD: Tensor,
) -> None:  # fmt: skip
    """The softmax over both kinds of keys: the output into `out`, the log-normaliser in the place of step 0's."""
    slots, heads, dim = q_AHD.shape
    _join[(triton.cdiv(slots, SLOTS), heads)](
        q_AHD, out0_AHD, lse_HA, own_k_SAGD, own_v_SAGD, out_AHD, slots, heads // own_k_SAGD.shape[2], scale,
        q_AHD.stride(0), out0_AHD.stride(0), out_AHD.stride(0), own_k_SAGD.stride(0), own_k_SAGD.stride(1),
        lse_HA.stride(0), own_k_SAGD.shape[0], dim, triton.next_power_of_2(dim), SLOTS,
    )  # fmt: skip


@triton.jit
def _join(
    q, out0, lse, own_k, own_v, out, slots, repeats, scale, q_stride, out0_stride, out_stride, step_stride, slot_stride,
    lse_stride, STEPS: tl.constexpr, DIM: tl.constexpr, COLUMNS: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    slot = (tl.program_id(0) * SLOTS + tl.arange(0, SLOTS)).to(tl.int64)
    head = tl.program_id(1)
    column = tl.arange(0, COLUMNS)
    there = slot < slots
    inside = there[:, None] & (column[None, :] < DIM)
    at = head * DIM + column[None, :]
    own = slot[:, None] * slot_stride + (head // repeats) * DIM + column[None, :]
    query = tl.load(q + slot[:, None] * q_stride + at, mask=inside, other=0.0).to(tl.float32)
    total = tl.load(out0 + slot[:, None] * out0_stride + at, mask=inside, other=0.0).to(tl.float32)
    normaliser = tl.load(lse + head * lse_stride + slot, mask=there, other=0.0)
    for step in tl.static_range(STEPS):
        key = tl.load(own_k + step * step_stride + own, mask=inside, other=0.0).to(tl.float32)
        value = tl.load(own_v + step * step_stride + own, mask=inside, other=0.0).to(tl.float32)
        score = tl.sum(query * key, axis=1) * scale
        peak = tl.maximum(normaliser, score)
        higher = peak + tl.log(tl.exp(normaliser - peak) + tl.exp(score - peak))
        total = total * tl.exp(normaliser - higher)[:, None] + tl.exp(score - higher)[:, None] * value
        normaliser = higher
    tl.store(out + slot[:, None] * out_stride + at, total.to(out.dtype.element_ty), mask=inside)
    tl.store(lse + head * lse_stride + slot, normaliser, mask=there)


def part(
    q_AHD: Tensor, grad_AHD: Tensor, out_AHD: Tensor, lse_HA: Tensor, dq_AHD: Tensor, own_k_SAGD: Tensor,
    own_v_SAGD: Tensor, scale: float, d_own_k: Tensor, d_own_v: Tensor,
) -> None:  # fmt: skip
    """Gradients through the own slots' scores, ds = p (dO v - dO O): added to `dq` and to fp32 `d_own`."""
    slots, heads, dim = q_AHD.shape
    groups = own_k_SAGD.shape[2]
    _part[(triton.cdiv(slots, SLOTS), groups)](
        q_AHD, grad_AHD, out_AHD, lse_HA, dq_AHD, own_k_SAGD, own_v_SAGD, d_own_k, d_own_v, slots, scale,
        q_AHD.stride(0), grad_AHD.stride(0), out_AHD.stride(0), dq_AHD.stride(0), own_k_SAGD.stride(0),
        own_k_SAGD.stride(1), d_own_k.stride(0), d_own_k.stride(1), lse_HA.stride(0), heads // groups,
        own_k_SAGD.shape[0], dim, triton.next_power_of_2(dim), SLOTS,
    )  # fmt: skip


@triton.jit
def _part(
    q, grad, out, lse, dq, own_k, own_v, d_own_k, d_own_v, slots, scale, q_stride, grad_stride, out_stride, dq_stride,
    step_stride, slot_stride, d_step_stride, d_slot_stride, lse_stride, REPEATS: tl.constexpr, STEPS: tl.constexpr,
    DIM: tl.constexpr, COLUMNS: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    slot = (tl.program_id(0) * SLOTS + tl.arange(0, SLOTS)).to(tl.int64)
    group = tl.program_id(1)
    column = tl.arange(0, COLUMNS)
    there = slot < slots
    inside = there[:, None] & (column[None, :] < DIM)
    own = slot[:, None] * slot_stride + group * DIM + column[None, :]
    d_own = slot[:, None] * d_slot_stride + group * DIM + column[None, :]
    for repeat in tl.static_range(REPEATS):
        head = group * REPEATS + repeat
        at = head * DIM + column[None, :]
        query = tl.load(q + slot[:, None] * q_stride + at, mask=inside, other=0.0).to(tl.float32)
        d = tl.load(grad + slot[:, None] * grad_stride + at, mask=inside, other=0.0).to(tl.float32)
        made = tl.load(out + slot[:, None] * out_stride + at, mask=inside, other=0.0).to(tl.float32)
        normaliser = tl.load(lse + head * lse_stride + slot, mask=there, other=0.0)
        d_query = tl.load(dq + slot[:, None] * dq_stride + at, mask=inside, other=0.0).to(tl.float32)
        along = tl.sum(d * made, axis=1)
        for step in tl.static_range(STEPS):
            key = tl.load(own_k + step * step_stride + own, mask=inside, other=0.0).to(tl.float32)
            value = tl.load(own_v + step * step_stride + own, mask=inside, other=0.0).to(tl.float32)
            weight = tl.exp(tl.sum(query * key, axis=1) * scale - normaliser)
            d_score = weight * (tl.sum(d * value, axis=1) - along) * scale
            d_query += d_score[:, None] * key
            k_place = d_own_k + step * d_step_stride + d_own
            v_place = d_own_v + step * d_step_stride + d_own
            k_sum = tl.load(k_place, mask=inside, other=0.0) + d_score[:, None] * query
            v_sum = tl.load(v_place, mask=inside, other=0.0) + weight[:, None] * d
            tl.store(k_place, k_sum, mask=inside)
            tl.store(v_place, v_sum, mask=inside)
        tl.store(dq + slot[:, None] * dq_stride + at, d_query.to(dq.dtype.element_ty), mask=inside)


def adamw(
    master: Tensor, weight: Tensor, grad: Tensor, mean: Tensor, square: Tensor, scalars_5: Tensor,
    beta1: float, beta2: float, eps: float,
) -> None:  # fmt: skip
    """One AdamW update of an fp32 master and of the weight in low precision that is used.

    scalars, fp32: factor on the gradient (clipping), learning rate, 1 - decay * rate, and the two bias corrections.
    """
    count = master.numel()
    _adamw[(triton.cdiv(count, 2048),)](
        master, weight, grad, mean, square, scalars_5, count, beta1, beta2, eps, 2048, num_warps=8
    )


@triton.jit
def _adamw(
    master, weight, grad, mean, square, scalars, count, beta1, beta2, eps, BLOCK: tl.constexpr
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    g = tl.load(grad + place, mask=inside, other=0.0).to(tl.float32) * tl.load(scalars)
    rate, shrink = tl.load(scalars + 1), tl.load(scalars + 2)
    correction1, correction2 = tl.load(scalars + 3), tl.load(scalars + 4)
    m = tl.load(mean + place, mask=inside, other=0.0) * beta1 + g * (1 - beta1)
    v = tl.load(square + place, mask=inside, other=0.0) * beta2 + g * g * (1 - beta2)
    w = tl.load(master + place, mask=inside, other=0.0) * shrink
    w -= rate * (m / correction1) / (tl.sqrt(v / correction2) + eps)
    tl.store(mean + place, m, mask=inside)
    tl.store(square + place, v, mask=inside)
    tl.store(master + place, w, mask=inside)
    tl.store(weight + place, w.to(weight.dtype.element_ty), mask=inside)
