"""The EAGLE-3 draft model: one Llama layer fed with (embedding, hidden state) pairs (arXiv 2503.01840).

Weights are kept in the shape in which they are multiplied: the halves of q, k and v that read the embedding apart
from those that read the hidden state, gate and up stacked. `runner.export` writes the names that SGLang loads.
The embedding is the target's, frozen, and no part of this module.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from runner.train.attention import ttt_attention
from runner.train.layout import Layout
from runner.train.rope import rotate, tables
from runner.train.shape import DraftShape


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

    def forward(self, aux_NC: Tensor, embeds_NH: Tensor, layout: Layout, ttt_length: int) -> list[Tensor]:
        """Un-normed hidden states of the active slots after each step, ttt_length times [A, hidden].

        aux [N, num_aux * hidden]: the target's captured states; embeds [N, hidden]: the target's embedding of the
        pack's tokens.
        """
        embed_part = F.linear(self._rms(embeds_NH, self.input_norm), self.qkv_embed)
        state = F.linear(aux_NC, self.fc)
        cos, sin = self._angles(layout, ttt_length)
        k0, v0 = self._first_keys(state, embed_part, cos, sin, layout)
        hidden = state.index_select(0, layout.active_A)
        own_k: list[Tensor] = []
        own_v: list[Tensor] = []
        states = []
        for step in range(ttt_length):
            row = (layout.active_A + (step + 1)).clamp_(max=layout.num_rows - 1)
            angle = layout.positions_N[layout.active_A] + step
            given = (hidden, embed_part.index_select(0, row), cos[angle], sin[angle], k0, v0, own_k, own_v, layout)
            if self.checkpoint_activations:
                hidden, *pair = checkpoint(self._step, *given, step > 0, use_reentrant=False)
            else:
                hidden, *pair = self._step(*given, step > 0)
            if step:
                own_k, own_v = [*own_k, pair[0]], [*own_v, pair[1]]
            states.append(hidden)
        return states

    def normed(self, hidden: Tensor) -> Tensor:
        """What the draft head reads."""
        return self._rms(hidden, self.norm)

    def _first_keys(
        self, state_NH: Tensor, embed_part: Tensor, cos: Tensor, sin: Tensor, layout: Layout
    ) -> tuple[Tensor, Tensor]:
        """Keys and values of step 0, of every row: also rows without an active slot are attended to."""
        shape, width = self.shape, self.shape.q_width
        shifted = torch.cat([embed_part[1:, width:], embed_part[-1:, width:]])
        normed = self._rms(state_NH, self.hidden_norm)
        kv = torch.addmm(shifted, normed, self.qkv_hidden[width:].t())
        k, v = kv.view(-1, 2, shape.num_kv_heads, shape.head_dim).unbind(1)
        return rotate(k, cos[layout.positions_N], sin[layout.positions_N]), v.contiguous()

    def _step(
        self,
        hidden_AH: Tensor,
        embed_part_A: Tensor,
        cos: Tensor,
        sin: Tensor,
        k0: Tensor,
        v0: Tensor,
        own_k: list[Tensor],
        own_v: list[Tensor],
        layout: Layout,
        own: bool,
    ) -> tuple[Tensor, ...]:
        """One draft step: the next hidden state, and from step 1 on (`own`) this step's keys and values too."""
        shape = self.shape
        normed = self._rms(hidden_AH, self.hidden_norm)
        pair: tuple[Tensor, ...] = ()
        if own:
            qkv = torch.addmm(embed_part_A, normed, self.qkv_hidden.t())
            q, k, v = torch.split(qkv, [shape.q_width, shape.kv_width, shape.kv_width], dim=1)
            k = rotate(k.view(-1, shape.num_kv_heads, shape.head_dim), cos, sin)
            pair = (k, v.view(-1, shape.num_kv_heads, shape.head_dim))
            own_k, own_v = [*own_k, pair[0]], [*own_v, pair[1]]
        else:
            q = torch.addmm(embed_part_A[:, : shape.q_width], normed, self.qkv_hidden[: shape.q_width].t())
        q = rotate(q.reshape(-1, shape.num_heads, shape.head_dim), cos, sin)
        attended = ttt_attention(q, k0, v0, own_k, own_v, layout).flatten(1)
        middle = torch.addmm(hidden_AH, attended, self.o.t())
        gate, up = F.linear(self._rms(middle, self.post_norm), self.gate_up).chunk(2, dim=1)
        return torch.addmm(middle, F.silu(gate) * up, self.down.t()), *pair

    def _rms(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self.shape.rms_norm_eps)

    def _angles(self, layout: Layout, ttt_length: int) -> tuple[Tensor, Tensor]:
        """cos and sin up to the last position of any step; grown in strides, so that lengths seldom matter."""
        longest = max(b - a for a, b in zip(layout.row_starts, layout.row_starts[1:], strict=False)) + ttt_length
        device = layout.positions_N.device
        if self._tables is None or self._tables[0].shape[0] < longest or self._tables[0].device != device:
            cos, sin = tables(self.shape.rope, self.shape.head_dim, -(-longest // 1024) * 1024)
            self._tables = cos.to(device), sin.to(device)
        return self._tables


def _matrix(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(rows, columns))
