"""Rotary position embedding: the variants that the draft layer can be trained with and SGLang's Llama can serve."""

import math

import torch
from torch import Tensor

from runner.train.shape import Rope


def frequencies(rope: Rope, head_dim: int) -> tuple[Tensor, float]:
    """Inverse frequencies [head_dim / 2] in fp32, and the factor on cos and sin."""
    exponent = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    plain = 1.0 / rope.theta**exponent
    if rope.variant == "default":
        return plain, 1.0
    factor = float(rope.scaling["factor"])
    if rope.variant == "linear":
        return plain / factor, 1.0
    if rope.variant == "llama3":
        return _llama3(plain, rope, factor), 1.0
    return _yarn(plain, rope, factor, head_dim)


def _llama3(plain: Tensor, rope: Rope, factor: float) -> Tensor:
    """Long waves are slowed by `factor`, short ones kept, those between interpolated (Llama 3.1)."""
    original = float(rope.scaling["original_max_position_embeddings"])
    low, high = float(rope.scaling["low_freq_factor"]), float(rope.scaling["high_freq_factor"])
    wavelength = 2 * math.pi / plain
    smooth = ((original / wavelength - low) / (high - low)).clamp(0, 1)
    return (1 - smooth) * plain / factor + smooth * plain


def _yarn(plain: Tensor, rope: Rope, factor: float, head_dim: int) -> tuple[Tensor, float]:
    """YaRN (arXiv 2309.00071): a ramp between interpolated and plain frequencies, and a factor on both sides."""
    original = float(rope.scaling.get("original_max_position_embeddings") or rope.max_positions)

    def dimension(rotations: float) -> float:
        return head_dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(rope.theta))

    low = max(math.floor(dimension(float(rope.scaling.get("beta_fast") or 32))), 0)
    high = min(math.ceil(dimension(float(rope.scaling.get("beta_slow") or 1))), head_dim - 1)
    ramp = ((torch.arange(head_dim // 2, dtype=torch.float32) - low) / max(high - low, 0.001)).clamp(0, 1)
    given = rope.scaling.get("attention_factor")
    attention = float(given) if given is not None else (0.1 * math.log(factor) + 1.0 if factor > 1 else 1.0)
    return plain / factor * ramp + plain * (1 - ramp), attention


def tables(rope: Rope, head_dim: int, positions: int) -> tuple[Tensor, Tensor]:
    """cos and sin [positions, head_dim / 2] in fp32."""
    inverse, factor = frequencies(rope, head_dim)
    angles = torch.arange(positions, dtype=torch.float32)[:, None] * inverse
    return angles.cos() * factor, angles.sin() * factor
