"""A drafter as the folder that SGLang's LlamaForCausalLMEagle3 loads: names, shapes, configuration.

Refused when a tensor is missing or misshapen, or when the layer ids to be written would make SGLang capture other
states than those trained on.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.protocol.errors import CaptureMismatch, DataError
from runner.train.shape import DraftShape
from runner.vocab import VocabMap, disagreement

if TYPE_CHECKING:
    from torch import Tensor

ARCHITECTURE = "LlamaForCausalLMEagle3"
# SGLang 0.5.23 adds one to every configured id, except in these, where only a first id of 1 makes it do so.
UNSHIFTED_FAMILIES = ("deepseek", "kimi", "glm4_moe_lite")


def is_unshifted(family: str) -> bool:
    return family.lower().startswith(UNSHIFTED_FAMILIES)


def captured_indices(ids: Sequence[int], family: str) -> list[int]:
    """What SGLang 0.5.23 captures for configured `ids`: indices as in transformers' hidden_states[i]."""
    if is_unshifted(family) and not (ids and ids[0] == 1):
        return list(ids)
    return [number + 1 for number in ids]


def layer_ids(indices: Sequence[int], family: str) -> list[int]:
    """The ids to configure so that SGLang captures `indices`. Raises CaptureMismatch when none do."""
    for ids in (list(indices), [number - 1 for number in indices]):
        if all(number >= 0 for number in ids) and captured_indices(ids, family) == list(indices):
            return ids
    raise CaptureMismatch(f"no layer ids make SGLang capture {list(indices)} from a {family} model")


def required_shapes(shape: DraftShape) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor of the file."""
    hidden, q, kv, inner = shape.hidden_size, shape.q_width, shape.kv_width, shape.intermediate_size
    return dict.fromkeys(_fc_norms(shape), (hidden,)) | {
        "fc.weight": (hidden, shape.num_aux * hidden),
        "midlayer.input_layernorm.weight": (hidden,),
        "midlayer.hidden_norm.weight": (hidden,),
        "midlayer.self_attn.q_proj.weight": (q, 2 * hidden),
        "midlayer.self_attn.k_proj.weight": (kv, 2 * hidden),
        "midlayer.self_attn.v_proj.weight": (kv, 2 * hidden),
        "midlayer.self_attn.o_proj.weight": (hidden, q),
        "midlayer.post_attention_layernorm.weight": (hidden,),
        "midlayer.mlp.gate_proj.weight": (inner, hidden),
        "midlayer.mlp.up_proj.weight": (inner, hidden),
        "midlayer.mlp.down_proj.weight": (hidden, inner),
        "norm.weight": (hidden,),
        "lm_head.weight": (shape.draft_vocab_size, hidden),
        "d2t": (shape.draft_vocab_size,),
        "t2d": (shape.vocab_size,),
    }


def _fc_norms(shape: DraftShape) -> list[str]:
    return [f"fc_norm.{number}.weight" for number in range(shape.num_aux)] if shape.fc_norm else []


def to_served(model: Mapping[str, "Tensor"], shape: DraftShape, vocab: VocabMap) -> dict[str, "Tensor"]:
    """The draft model's parameters under the names that SGLang loads; q, k and v read (embedding, hidden)."""
    import torch

    widths = [shape.q_width, shape.kv_width, shape.kv_width]
    halves = zip(*(torch.split(model[name], widths) for name in ("qkv_embed", "qkv_hidden")), strict=True)
    q, k, v = (torch.cat(pair, dim=1) for pair in halves)
    gate, up = model["gate_up"].chunk(2)
    norms = {name: torch.ones_like(model["norm"]) for name in _fc_norms(shape)}
    return norms | {
        "fc.weight": model["fc"],
        "midlayer.input_layernorm.weight": model["input_norm"],
        "midlayer.hidden_norm.weight": model["hidden_norm"],
        "midlayer.self_attn.q_proj.weight": q,
        "midlayer.self_attn.k_proj.weight": k,
        "midlayer.self_attn.v_proj.weight": v,
        "midlayer.self_attn.o_proj.weight": model["o"],
        "midlayer.post_attention_layernorm.weight": model["post_norm"],
        "midlayer.mlp.gate_proj.weight": gate,
        "midlayer.mlp.up_proj.weight": up,
        "midlayer.mlp.down_proj.weight": model["down"],
        "norm.weight": model["norm"],
        "lm_head.weight": model["lm_head"],
        "d2t": torch.from_numpy(vocab.d2t),
        "t2d": torch.from_numpy(vocab.t2d),
    }


def from_served(tensors: Mapping[str, "Tensor"], shape: DraftShape) -> dict[str, "Tensor"]:
    """The way back: parameters of the draft model from a served file. Raises DataError when one does not fit."""
    import torch

    complaints = shape_complaints({name: tuple(tensor.shape) for name, tensor in tensors.items()}, shape)
    if complaints:
        raise DataError("; ".join(complaints))
    layer = "midlayer."
    qkv = [tensors[f"{layer}self_attn.{name}_proj.weight"].chunk(2, dim=1) for name in "qkv"]
    mlp = {name: tensors[f"{layer}mlp.{name}_proj.weight"] for name in ("gate", "up", "down")}
    fc = tensors["fc.weight"]
    if norms := _fc_norms(shape):  # a weight before a matrix is a factor of its columns
        fc = fc * torch.cat([tensors[name] for name in norms])
    return {
        "fc": fc,
        "input_norm": tensors[layer + "input_layernorm.weight"],
        "hidden_norm": tensors[layer + "hidden_norm.weight"],
        "qkv_embed": torch.cat([embed for embed, _ in qkv]),
        "qkv_hidden": torch.cat([hidden for _, hidden in qkv]),
        "o": tensors[layer + "self_attn.o_proj.weight"],
        "post_norm": tensors[layer + "post_attention_layernorm.weight"],
        "gate_up": torch.cat([mlp["gate"], mlp["up"]]),
        "down": mlp["down"],
        "norm": tensors["norm.weight"],
        "lm_head": tensors["lm_head.weight"],
    }


def shape_complaints(found: Mapping[str, tuple[int, ...]], shape: DraftShape) -> list[str]:
    """What is missing, misshapen or not wanted among the tensors of a served file."""
    wanted = required_shapes(shape)
    missing = [f"{name} is missing" for name in wanted if name not in found]
    wrong = [
        f"{name} is {list(found[name])}, not {list(size)}"
        for name, size in wanted.items()
        if name in found and tuple(found[name]) != size
    ]
    return missing + wrong + [f"{name} is not known to SGLang" for name in found if name not in wanted]


def served_config(shape: DraftShape, ids: Sequence[int], target: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """`config.json` of the drafter. Never tied: its head is its own, whatever the target's is."""
    rope = shape.rope
    config: dict[str, Any] = {
        "architectures": [ARCHITECTURE],
        "model_type": "llama",
        "hidden_size": shape.hidden_size,
        "intermediate_size": shape.intermediate_size,
        "num_attention_heads": shape.num_heads,
        "num_key_value_heads": shape.num_kv_heads,
        "head_dim": shape.head_dim,
        "num_hidden_layers": 1,
        "vocab_size": shape.vocab_size,
        "draft_vocab_size": shape.draft_vocab_size,
        "rms_norm_eps": shape.rms_norm_eps,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "max_position_embeddings": rope.max_positions,
        "rope_theta": rope.theta,
        "rope_scaling": rope.scaling or None,
        "tie_word_embeddings": False,
        "fc_norm": shape.fc_norm,
        "torch_dtype": dtype,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": list(ids), "use_aux_hidden_state": True},
    }
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        if target.get(name) is not None:
            config[name] = target[name]
    return config


def write_draft(
    out: Path,
    model: Mapping[str, "Tensor"],
    shape: DraftShape,
    vocab: VocabMap,
    *,
    indices: Sequence[int],
    family: str,
    target: Mapping[str, Any],
    dtype: str,
) -> None:
    """Write the folder, whole or not at all, over a former one. Raises DataError, CaptureMismatch."""
    import torch
    from safetensors.torch import save_file

    if len(indices) != shape.num_aux:
        raise CaptureMismatch(f"the drafter reads {shape.num_aux} captured states, the manifest names {list(indices)}")
    ids = layer_ids(indices, family)
    kind = getattr(torch, dtype)
    tensors = {
        name: (tensor.detach().cpu().to(kind) if tensor.is_floating_point() else tensor).contiguous()
        for name, tensor in to_served(model, shape, vocab).items()
    }
    complaints = shape_complaints({name: tuple(tensor.shape) for name, tensor in tensors.items()}, shape)
    complaints += [
        f"{n} is not finite" for n, t in tensors.items() if t.is_floating_point() and not torch.isfinite(t).all()
    ]
    maps = disagreement(tensors["d2t"].numpy(), tensors["t2d"].numpy())
    if complaints or maps:
        raise DataError("; ".join([*complaints, *([maps] if maps else [])]), "nothing was exported")
    out.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    save_file(tensors, building / "model.safetensors", metadata={"format": "pt"})
    (building / "config.json").write_text(json.dumps(served_config(shape, ids, target, dtype), indent=2) + "\n")
    for path in building.iterdir():
        path.chmod(0o644)
        with path.open("rb") as file:
            os.fsync(file.fileno())
    building.chmod(0o755)
    if out.exists():
        shutil.rmtree(out)
    building.rename(out)
