"""EAGLE-3's training loss written down plainly: one conversation at a time, dense masks, full logits, no tricks.

Follows the formulas alone (arXiv 2503.01840 and the served model's order of operations) and shares no code with
`runner.train`; parameters carry the names that SGLang loads. `Mistake` names one classic error to commit.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

Params = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Spec:
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    inverse_frequencies: torch.Tensor  # [head_dim / 2]
    rope_factor: float
    ttt_length: int
    decay: float = 0.8
    fc_norm: bool = False
    temperature: float = 1.0


@dataclass(frozen=True)
class Conversation:
    input_ids: torch.Tensor  # [T]
    loss_mask: torch.Tensor  # [T]
    aux: torch.Tensor  # [T, 3H]
    last: torch.Tensor  # [T, H]


def rms_norm(x, weight, eps):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def rope(x, positions, spec):
    """[T, heads, D] turned by positions [T], in the half-split pairing of Llama."""
    angle = positions.to(x.dtype)[:, None] * spec.inverse_frequencies.to(x.dtype)
    cos = torch.cat([angle.cos(), angle.cos()], -1)[:, None] * spec.rope_factor
    sin = torch.cat([angle.sin(), angle.sin()], -1)[:, None] * spec.rope_factor
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def visible(length, step):
    """[T, T (step + 1)] bool: causal over the keys of step 0, the own slot alone of every later one."""
    blocks = [torch.ones(length, length).tril().bool()]
    blocks += [torch.eye(length).bool() for _ in range(step)]
    return torch.cat(blocks, dim=1)


def attend(q, keys, values, mask, spec):
    out = []
    for head in range(spec.heads):
        group = head // (spec.heads // spec.kv_heads)
        k = torch.cat([part[:, group] for part in keys])
        v = torch.cat([part[:, group] for part in values])
        scores = q[:, head] @ k.T / math.sqrt(spec.head_dim)
        out.append(torch.softmax(scores.masked_fill(~mask, -math.inf), -1) @ v)
    return torch.cat(out, dim=1)


def draft_states(p: Params, talk: Conversation, embedding, spec: Spec, mistake: str = "") -> list[torch.Tensor]:
    """h'_t of every step, [T, H] each; token ids beyond the end are 0 and reach nothing that is supervised."""
    length = len(talk.input_ids)
    aux = talk.aux
    if spec.fc_norm:
        thirds = aux.chunk(3, dim=-1)
        aux = torch.cat([rms_norm(part, p[f"fc_norm.{n}.weight"], spec.eps) for n, part in enumerate(thirds)], dim=-1)
    h = aux @ p["fc.weight"].T
    keys, values, states = [], [], []
    for step in range(spec.ttt_length):
        ahead = step if mistake == "own_token" else step + 1
        token = F.pad(talk.input_ids, (0, ahead))[ahead : ahead + length]
        position = torch.arange(length) + (0 if mistake == "position" else step)
        e = rms_norm(embedding[token], p["midlayer.input_layernorm.weight"], spec.eps)
        n = rms_norm(h, p["midlayer.hidden_norm.weight"], spec.eps)
        z = torch.cat([n, e] if mistake == "hidden_first" else [e, n], -1)
        q, k, v = (
            (z @ p[f"midlayer.self_attn.{name}_proj.weight"].T).view(length, -1, spec.head_dim) for name in "qkv"
        )
        keys.append(rope(k, position, spec))
        values.append(v)
        mask = visible(length, step)
        if mistake == "later_keys_causal":
            mask = torch.ones(length, length).tril().bool().repeat(1, step + 1)
        a = attend(rope(q, position, spec), keys, values, mask, spec)
        r = (n if mistake == "normed_residual" else h) + a @ p["midlayer.self_attn.o_proj.weight"].T
        m = rms_norm(r, p["midlayer.post_attention_layernorm.weight"], spec.eps)
        gate, up = m @ p["midlayer.mlp.gate_proj.weight"].T, m @ p["midlayer.mlp.up_proj.weight"].T
        out = r + (F.silu(gate) * up) @ p["midlayer.mlp.down_proj.weight"].T
        states.append(out)
        h = rms_norm(out, p["norm.weight"], spec.eps) if mistake == "normed_feedback" else out
    return states


def losses(p: Params, talks, embedding, target_head, t2d, spec: Spec, mistake: str = ""):
    """Total loss, and by step: mean loss, correct first choices, supervised slots kept, supervised slots."""
    sums = [torch.zeros((), dtype=embedding.dtype) for _ in range(spec.ttt_length)]
    correct, kept, supervised = ([0] * spec.ttt_length for _ in range(3))
    for talk in talks:
        length = len(talk.input_ids)
        states = draft_states(p, talk, embedding, spec, mistake)
        for step, state in enumerate(states):
            logits = (state if mistake == "no_norm" else rms_norm(state, p["norm.weight"], spec.eps)) @ p[
                "lm_head.weight"
            ].T
            for t in range(length):
                row = t + 1 + step
                masked = t + step if mistake == "mask_unshifted" else row
                if row >= length or not talk.loss_mask[masked]:
                    continue
                full = talk.last[row - 1 if mistake == "teacher_early" else row] @ target_head.T
                supervised[step] += 1
                if not t2d[full.argmax()] and mistake != "keep_outside":
                    continue
                teacher = torch.softmax(full[t2d] / spec.temperature, -1)
                sums[step] = sums[step] - (teacher * torch.log_softmax(logits[t], -1)).sum()
                correct[step] += int(logits[t].argmax() == teacher.argmax())
                kept[step] += 1
    by_step = [total / max(count, 1) for total, count in zip(sums, kept, strict=True)]
    return sum(spec.decay**k * loss for k, loss in enumerate(by_step)), by_step, correct, kept, supervised
