"""Speculative decoding written out plainly, from a served drafter's files: the truth that a server is held against.

Independent of the trainer and of SGLang: no cache, no batch, everything recomputed at every step.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor


@dataclass
class Drafter:
    """An EAGLE-3 draft layer in fp32. `embed` [V, H] is the target's."""

    weights: dict[str, Tensor]
    config: dict[str, Any]
    embed: Tensor

    @staticmethod
    def load(folder: Path, embed: Tensor) -> "Drafter":
        weights = load_file(folder / "model.safetensors")
        floats = {name: w.float() if w.is_floating_point() else w for name, w in weights.items()}
        return Drafter(floats, json.loads((folder / "config.json").read_text()), embed.float())

    def fuse(self, aux: Tensor) -> Tensor:
        """[T, 3H] captured states to [T, H]."""
        if self.config["fc_norm"]:
            weights = [self.weights[f"fc_norm.{number}.weight"] for number in range(3)]
            eps = self.config["rms_norm_eps"]
            parts = [F.rms_norm(x, w.shape, w, eps) for x, w in zip(aux.chunk(3, -1), weights, strict=True)]
            aux = torch.cat(parts, -1)
        return aux @ self.weights["fc.weight"].T

    def forward(self, tokens: list[int], hidden: Tensor) -> tuple[Tensor, int]:
        """The state after the last slot, before the norm, and the token it predicts. `hidden` [T, H]."""
        heads, kv_heads, width = (self.config[n] for n in ("num_attention_heads", "num_key_value_heads", "head_dim"))
        slots = len(tokens)
        both = torch.cat([self._norm(self.embed[tokens], "input_layernorm"), self._norm(hidden, "hidden_norm")], -1)
        q, k, v = (both @ self.weights[f"midlayer.self_attn.{name}_proj.weight"].T for name in "qkv")
        q = self._rotate(q.view(slots, heads, width))
        k = self._rotate(k.view(slots, kv_heads, width)).repeat_interleave(heads // kv_heads, 1)
        v = v.view(slots, kv_heads, width).repeat_interleave(heads // kv_heads, 1)
        mixed = F.scaled_dot_product_attention(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), is_causal=True)
        state = hidden + mixed.transpose(0, 1).reshape(slots, -1) @ self.weights["midlayer.self_attn.o_proj.weight"].T
        inner = self._norm(state, "post_attention_layernorm")
        gate, up = (inner @ self.weights[f"midlayer.mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        state = state + (F.silu(gate) * up) @ self.weights["midlayer.mlp.down_proj.weight"].T
        logits = self._norm(state[-1:], None) @ self.weights["lm_head.weight"].T
        draft = int(logits[0].argmax())
        return state[-1:], draft + int(self.weights["d2t"][draft])

    def _norm(self, x: Tensor, name: str | None) -> Tensor:
        weight = self.weights[f"midlayer.{name}.weight" if name else "norm.weight"]
        return F.rms_norm(x, (x.shape[-1],), weight, self.config["rms_norm_eps"])

    def _rotate(self, x: Tensor) -> Tensor:
        """RoPE on [T, heads, width], the halves paired."""
        slots, _, width = x.shape
        speed = 1.0 / self.config["rope_theta"] ** (torch.arange(0, width, 2) / width)
        angle = (torch.arange(slots)[:, None] * speed)[:, None]
        left, right = x.chunk(2, -1)
        return torch.cat([left * angle.cos() - right * angle.sin(), right * angle.cos() + left * angle.sin()], -1)


@dataclass
class Answer:
    output_ids: list[int]
    verify_steps: int


@torch.no_grad()
def answer(
    target: Any, drafter: Drafter, indices: list[int], prompt: list[int], max_new_tokens: int, steps: int, stop: int
) -> Answer:
    """A greedy answer with a chain of `steps` drafts before each verification."""

    def run(tokens: list[int]) -> tuple[Tensor, Tensor]:
        out = target(torch.tensor([tokens]), output_hidden_states=True)
        return out.logits[0].argmax(-1), torch.cat([out.hidden_states[index][0] for index in indices], -1)

    best, aux = run(prompt)
    known, output, verified = [*prompt, int(best[-1])], [int(best[-1])], 0
    while len(output) < max_new_tokens and output[-1] != stop:
        tokens, hidden, drafts = known[1:], drafter.fuse(aux), []
        for _ in range(steps):
            state, draft = drafter.forward(tokens, hidden)
            drafts.append(draft)
            tokens, hidden = [*tokens, draft], torch.cat([hidden, state])
        best, aux = run([*known, *drafts])
        wanted = best[len(known) - 1 :].tolist()
        kept = next((k for k in range(steps) if drafts[k] != wanted[k]), steps)
        new = [*drafts[:kept], wanted[kept]]
        new = new[: new.index(stop) + 1] if stop in new else new
        verified += 1
        known, output = [*known, *new], [*output, *new]
        aux = aux[: len(known) - 1]
    return Answer(output[:max_new_tokens], verified)
