"""Drafters that need no training."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file


def write_repeating_drafter(
    folder: Path, target: Path, layer_ids: list[int], noise: float = 0.02, fc_norm: bool = False
) -> None:
    """A drafter that tends to repeat the target's last choice, which a random target often does too.

    fc passes the highest captured state through with its sign turned, the last norm turns it back, and the head is
    the target's own on three of four token ids. Without fc (served as EAGLE) it prefers the unlikeliest tokens.
    Attention and MLP are small noise, strong enough that a server that computes them wrongly accepts other drafts.
    """
    config = json.loads((target / "config.json").read_text())
    weights = load_file(target / "model.safetensors")
    hidden, vocab, inner = config["hidden_size"], config["vocab_size"], config["intermediate_size"]
    heads, kv_heads, width = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    torch.manual_seed(3)
    ids = torch.arange(vocab)
    kept = ids[ids % 4 != 1]
    t2d = torch.zeros(vocab, dtype=torch.bool)
    t2d[kept] = True

    def noisy(*size: int) -> torch.Tensor:
        return torch.randn(*size) * noise

    tensors = {
        "fc.weight": torch.cat([torch.zeros(hidden, 2 * hidden), -torch.eye(hidden)], 1)
        + noisy(hidden, 3 * hidden) / 4,
        "norm.weight": -weights["model.norm.weight"].float(),
        "lm_head.weight": weights["lm_head.weight"][kept].float(),
        "d2t": kept - torch.arange(len(kept)),
        "t2d": t2d,
        "midlayer.self_attn.q_proj.weight": noisy(heads * width, 2 * hidden) * 8,
        "midlayer.self_attn.k_proj.weight": noisy(kv_heads * width, 2 * hidden) * 8,
        "midlayer.self_attn.v_proj.weight": noisy(kv_heads * width, 2 * hidden),
        "midlayer.self_attn.o_proj.weight": noisy(hidden, heads * width),
        "midlayer.mlp.gate_proj.weight": noisy(inner, hidden),
        "midlayer.mlp.up_proj.weight": noisy(inner, hidden),
        "midlayer.mlp.down_proj.weight": noisy(hidden, inner),
    }
    for name in ("hidden_norm", "input_layernorm", "post_attention_layernorm"):
        tensors[f"midlayer.{name}.weight"] = torch.ones(hidden)
    if fc_norm:
        norms = [0.2 + 4 * torch.rand(hidden) for _ in range(3)]  # fc takes them back: who leaves them out drafts worse
        tensors |= {f"fc_norm.{number}.weight": norm for number, norm in enumerate(norms)}
        tensors["fc.weight"] = tensors["fc.weight"] / torch.cat(norms)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(_config(config, len(kept), layer_ids) | {"fc_norm": fc_norm}))


def _config(target: dict[str, Any], draft_vocab: int, layer_ids: list[int]) -> dict[str, Any]:
    same = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size")
    return {
        **{name: target[name] for name in same},
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "num_hidden_layers": 1,
        "draft_vocab_size": draft_vocab,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 4096,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": layer_ids, "use_aux_hidden_state": True},
    }
