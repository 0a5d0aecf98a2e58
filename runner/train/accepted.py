"""Acceptance length of a greedy loop of draft and verify, without the loop.

A draft depends on the verified tokens alone, and those are the target's own answer: so drafts are made behind every
token of the answer at once, and then walked through. Seconds instead of minutes for forty prompts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from runner.train.pointwise import rotate
from runner.train.rope import tables
from runner.train.served import Drafter


@dataclass(frozen=True)
class Asked:
    """A prompt with the target's greedy answer behind it, and the captured states of both."""

    tokens: Tensor
    prompt_length: int
    answer_length: int  # what counts; a few tokens more are there, for the last drafts to be compared with
    aux: Tensor


@torch.no_grad()
def drafts_everywhere(drafter: Drafter, tokens_T: Tensor, aux_TC: Tensor, steps: int) -> Tensor:
    """What the drafter proposes behind each token but the last [T - 1, steps], target ids."""
    model, shape = drafter.model, drafter.model.shape
    device, dtype = drafter.embedding.device, drafter.embedding.dtype
    slots, dim, groups = len(tokens_T) - 1, shape.head_dim, shape.num_kv_heads
    kept = torch.from_numpy(drafter.vocab.kept).to(device)
    cos, sin = (table.to(device) for table in tables(shape.rope, dim, slots + steps))
    weight = torch.cat([model.qkv_embed, model.qkv_hidden], dim=1)
    hidden, token = F.linear(model.captured(aux_TC[:slots].to(dtype)), model.fc), tokens_T[1:].to(device)

    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (shape.hidden_size,), weight, shape.rms_norm_eps)

    keys: list[Tensor] = []
    values: list[Tensor] = []
    chosen = []
    for step in range(steps):
        both = torch.cat([norm(drafter.embedding[token], model.input_norm), norm(hidden, model.hidden_norm)], dim=1)
        q, k, v = torch.split(F.linear(both, weight), [shape.q_width, shape.kv_width, shape.kv_width], dim=1)
        q, k = q.contiguous(), k.contiguous()
        rotate(q, q, cos[step : step + slots].contiguous(), sin[step : step + slots].contiguous())
        rotate(k, k, cos[step : step + slots].contiguous(), sin[step : step + slots].contiguous())
        keys.append(k.view(slots, groups, dim).repeat_interleave(shape.num_heads // groups, 1).float())
        values.append(v.reshape(slots, groups, dim).repeat_interleave(shape.num_heads // groups, 1).float())
        query = q.view(slots, shape.num_heads, dim).float()
        scores = [torch.einsum("ahd,nhd->han", query, keys[0])]
        scores[0].masked_fill_(torch.ones(slots, slots, dtype=torch.bool, device=device).triu_(1), -math.inf)
        scores += [(query * own).sum(-1).t()[..., None] for own in keys[1:]]
        weights = torch.softmax(torch.cat(scores, dim=-1) / math.sqrt(dim), dim=-1)
        out = torch.einsum("han,nhd->ahd", weights[..., :slots], values[0])
        for number, own in enumerate(values[1:]):
            out = out + weights[..., slots + number].t()[..., None] * own
        middle = hidden + F.linear(out.to(dtype).flatten(1), model.o)
        gate, up = F.linear(norm(middle, model.post_norm), model.gate_up).chunk(2, dim=1)
        hidden = middle + F.linear(F.silu(gate) * up, model.down)
        token = kept[F.linear(norm(hidden, model.norm), model.lm_head).argmax(-1)]
        chosen.append(token)
    return torch.stack(chosen, dim=1)


def acceptance(drafter: Drafter, asked: Sequence[Asked], steps: int) -> dict[str, Any]:
    counts = []
    for one in asked:
        drafts, truth = drafts_everywhere(drafter, one.tokens, one.aux, steps).tolist(), one.tokens.tolist()
        at, end = one.prompt_length, one.prompt_length + one.answer_length
        while at < end - 1:  # the token at `at` is verified; slot at - 1 read it
            right = [draft == token for draft, token in zip(drafts[at - 1], truth[at + 1 :], strict=False)]
            count = right.index(False) if False in right else len(right)
            counts.append(count)
            at += count + 1
    reached = [sum(count >= k for count in counts) for k in range(steps + 1)]
    return {
        "length": 1 + sum(counts) / max(len(counts), 1),
        "by_position": [reached[k + 1] / max(reached[k], 1) for k in range(steps)],
        "verify_steps": len(counts),
    }
