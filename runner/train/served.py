"""The drafter as it is used, step by step with a cache: what SGLang does at inference, written plainly.

Shares the parameters with training and none of its unrolling: equal results prove each other.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from runner.drafter import from_served
from runner.hf import load_config
from runner.protocol.errors import DataError
from runner.train.model import DraftModel
from runner.train.rope import tables
from runner.train.shape import shape_of
from runner.vocab import VocabMap


@dataclass
class Cache:
    """Keys and values [n, kv heads, D] of the slots so far; their number is the next slot's position."""

    k: Tensor
    v: Tensor

    def __len__(self) -> int:
        return self.k.shape[0]

    def cut(self, length: int) -> None:
        self.k, self.v = self.k[:length], self.v[:length]


@dataclass(frozen=True, kw_only=True)
class Drafter:
    """A served drafter. `embedding` is the target's."""

    model: DraftModel
    embedding: Tensor
    vocab: VocabMap
    config: dict[str, Any]

    @staticmethod
    def load(folder: Path, embedding: Tensor) -> "Drafter":
        """From an exported folder, in the embedding's dtype. Raises DataError when it does not fit together."""
        config = load_config(folder)
        try:
            tensors = load_file(folder / "model.safetensors")
        except (OSError, SafetensorError) as error:
            raise DataError(f"{folder}: no drafter ({error})", "export it again") from error
        shape = shape_of(config)
        model = DraftModel(shape)
        model.load_state_dict(from_served(tensors, shape))
        model.to(device=embedding.device, dtype=embedding.dtype).eval()
        vocab = VocabMap.of(tensors["d2t"].numpy(), tensors["t2d"].numpy())
        return Drafter(model=model, embedding=embedding, vocab=vocab, config=config)

    def empty(self) -> Cache:
        shape = self.model.shape
        none = self.embedding.new_zeros(0, shape.num_kv_heads, shape.head_dim)
        return Cache(none, none)

    @torch.no_grad()
    def project(self, aux_NC: Tensor) -> Tensor:
        """The target's captured states as the drafter's hidden states."""
        return F.linear(self.model.captured(aux_NC), self.model.fc)

    @torch.no_grad()
    def extend(self, tokens_N: Tensor, hidden_NH: Tensor, cache: Cache) -> Tensor:
        """Add slots that read these (token, hidden state) pairs; returns their un-normed hidden states."""
        model, shape = self.model, self.model.shape
        eps, first = shape.rms_norm_eps, len(cache)
        embeds = F.rms_norm(self.embedding[tokens_N], (shape.hidden_size,), model.input_norm, eps)
        normed = F.rms_norm(hidden_NH, (shape.hidden_size,), model.hidden_norm, eps)
        both = torch.cat([embeds, normed], dim=1)
        qkv = F.linear(both, torch.cat([model.qkv_embed, model.qkv_hidden], dim=1))
        q, k, v = torch.split(qkv, [shape.q_width, shape.kv_width, shape.kv_width], dim=1)
        cos, sin = (table[first:] for table in tables(shape.rope, shape.head_dim, first + len(tokens_N)))
        q, k = (_turn(x.view(len(x), -1, shape.head_dim), cos, sin) for x in (q, k))
        cache.k, cache.v = torch.cat([cache.k, k]), torch.cat([cache.v, v.view_as(k)])
        causal = torch.ones(len(q), len(cache), dtype=torch.bool).tril_(first)
        attended = F.scaled_dot_product_attention(
            q.transpose(0, 1), cache.k.transpose(0, 1), cache.v.transpose(0, 1), attn_mask=causal, enable_gqa=True
        )
        middle = hidden_NH + F.linear(attended.transpose(0, 1).flatten(1), model.o)
        gate, up = F.linear(F.rms_norm(middle, (shape.hidden_size,), model.post_norm, eps), model.gate_up).chunk(2, 1)
        return middle + F.linear(F.silu(gate) * up, model.down)

    @torch.no_grad()
    def logits(self, hidden_NH: Tensor) -> Tensor:
        """Over the draft vocabulary."""
        return F.linear(self.model.normed(hidden_NH), self.model.lm_head)

    def target_id(self, draft_id: int) -> int:
        return int(self.vocab.kept[draft_id])

    def propose(self, hidden_H: Tensor, cache: Cache, steps: int) -> list[int]:
        """A chain of `steps` tokens from the last slot's hidden state; the cache is left as it was."""
        length, chain = len(cache), []
        for step in range(steps):
            chain.append(self.target_id(int(self.logits(hidden_H[None]).argmax())))
            if step < steps - 1:
                hidden_H = self.extend(torch.tensor(chain[-1:]), hidden_H[None], cache)[0]
        cache.cut(length)
        return chain


def _turn(x_NHD: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x_NHD.chunk(2, dim=-1)
    cos, sin = cos[:, None].to(x_NHD), sin[:, None].to(x_NHD)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
