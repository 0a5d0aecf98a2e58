"""The EAGLE-3 draft model: one Llama layer fed with (embedding, hidden state) pairs (arXiv 2503.01840).

Weights are kept in the shape in which they are multiplied: the halves of q, k and v that read the embedding apart
from those that read the hidden state, gate and up stacked. `runner.drafter` writes the names that SGLang loads.
The embedding is the target's, frozen, and no part of this module.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from runner.train.layout import Layout
from runner.train.norm import rms_norm
from runner.train.rope import tables
from runner.train.shape import DraftShape
from runner.train.unroll import LayerWeights, Unroll, Unrolled


class DraftModel(nn.Module):
    """Parameters, and the unrolled steps of training-time test."""

    def __init__(self, shape: DraftShape) -> None:
        super().__init__()
        self.shape = shape
        hidden, qkv = shape.hidden_size, shape.q_width + 2 * shape.kv_width
        self.fc = _matrix(hidden, shape.num_aux * hidden)
        self.input_norm = nn.Parameter(torch.ones(hidden))
        self.hidden_norm = nn.Parameter(torch.ones(hidden))
        self.qkv_embed = _matrix(qkv, hidden)
        self.qkv_hidden = _matrix(qkv, hidden)
        self.o = _matrix(hidden, shape.q_width)
        self.post_norm = nn.Parameter(torch.ones(hidden))
        self.gate_up = _matrix(2 * shape.intermediate_size, hidden)
        self.down = _matrix(hidden, shape.intermediate_size)
        self.norm = nn.Parameter(torch.ones(hidden))
        self.lm_head = _matrix(shape.draft_vocab_size, hidden)
        self.checkpoint_activations = False
        self._tables: tuple[Tensor, Tensor] | None = None

    def reset(self, generator: torch.Generator) -> None:
        """Random start: every matrix uniform with the deviation of its fan-in, norms one."""
        with torch.no_grad():
            for parameter in self.parameters():
                if parameter.dim() == 2:
                    bound = 1 / math.sqrt(parameter.shape[1])
                    parameter.uniform_(-bound, bound, generator=generator)

    def forward(self, aux_NC: Tensor, embeds_NH: Tensor, layout: Layout, ttt_length: int) -> Tensor:
        """Un-normed hidden states of the active slots after each step [ttt_length, A, hidden].

        aux [N, num_aux * hidden]: the target's captured states; embeds [N, hidden]: the target's embedding of the
        pack's tokens.
        """
        weights = LayerWeights(*(getattr(self, name) for name in LayerWeights._fields))
        angles = self._angles(layout, ttt_length)
        unrolled = Unrolled(self.shape, layout, ttt_length, weights, angles, self.checkpoint_activations)
        states: Tensor = Unroll.apply(  # type: ignore[no-untyped-call]
            unrolled, self.captured(aux_NC), embeds_NH, *weights
        )
        return states

    def captured(self, aux_NC: Tensor) -> Tensor:
        """What `fc` reads of the captured states. A norm's own weights would be columns of `fc`: it has none."""
        if not self.shape.fc_norm:
            return aux_NC
        apart = aux_NC.reshape(*aux_NC.shape[:-1], self.shape.num_aux, -1)
        return F.rms_norm(apart, apart.shape[-1:], eps=self.shape.rms_norm_eps).flatten(-2)

    def idle(self) -> Tensor:
        """A zero that every weight is part of: its backward pass gives each a gradient of zeros."""
        return torch.stack([parameter[:0].sum() for parameter in self.parameters()]).sum()

    def normed(self, hidden: Tensor) -> Tensor:
        """What the draft head reads."""
        return rms_norm(hidden, self.norm, self.shape.rms_norm_eps)

    def _angles(self, layout: Layout, ttt_length: int) -> tuple[Tensor, Tensor]:
        """cos and sin up to the last position of any step; grown in strides, so that lengths seldom matter."""
        longest = layout.longest_rows + ttt_length
        device = layout.positions_N.device
        if self._tables is None or self._tables[0].shape[0] < longest or self._tables[0].device != device:
            cos, sin = tables(self.shape.rope, self.shape.head_dim, -(-longest // 1024) * 1024)
            self._tables = cos.to(device), sin.to(device)
        return self._tables


def _matrix(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(rows, columns))
