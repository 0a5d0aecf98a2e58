"""A Llama model packed as GGUF, written out as a Hugging Face folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from runner.protocol.errors import DataError

# llama.cpp's tensor names and Hugging Face's; {} is the layer.
_OUTER = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_CONTROL = 3  # token type of special tokens in GGUF


def write_folder(source: Path, folder: Path, dtype: str) -> None:
    """Write config, weights (dequantised, in `dtype`) and tokenizer of the GGUF file `source` into `folder`.

    Raises DataError when it holds no Llama model with a byte-level BPE tokenizer.
    """
    import gguf

    reader = gguf.GGUFReader(str(source))
    values = {name: field.contents() for name, field in reader.fields.items()}
    if values.get("general.architecture") != "llama" or values.get("tokenizer.ggml.model") != "gpt2":
        raise DataError(f"{source}: not a Llama model with a byte-level BPE tokenizer")
    _write_weights(reader.tensors, values, folder / "model.safetensors", dtype)
    tied = not any(tensor.name == "output.weight" for tensor in reader.tensors)
    _write_json(folder / "config.json", _config(values, dtype, tied))
    _write_tokenizer(values, folder)


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _config(values: dict[str, Any], dtype: str, tied: bool) -> dict[str, Any]:
    heads = int(values["llama.attention.head_count"])
    hidden = int(values["llama.embedding_length"])
    theta = float(values["llama.rope.freq_base"])
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": int(values["llama.vocab_size"]),
        "hidden_size": hidden,
        "intermediate_size": int(values["llama.feed_forward_length"]),
        "num_hidden_layers": int(values["llama.block_count"]),
        "num_attention_heads": heads,
        "num_key_value_heads": int(values["llama.attention.head_count_kv"]),
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        "rms_norm_eps": float(f"{values['llama.attention.layer_norm_rms_epsilon']:.6g}"),
        "max_position_embeddings": int(values["llama.context_length"]),
        "rope_theta": theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tied,
        "bos_token_id": int(values["tokenizer.ggml.bos_token_id"]),
        "eos_token_id": int(values["tokenizer.ggml.eos_token_id"]),
        "pad_token_id": int(values["tokenizer.ggml.padding_token_id"]),
        "dtype": dtype,
    }


def _write_weights(tensors: list[Any], values: dict[str, Any], path: Path, dtype: str) -> None:
    import gguf
    import torch
    from safetensors.torch import save_file

    heads = {
        "attn_q": int(values["llama.attention.head_count"]),
        "attn_k": int(values["llama.attention.head_count_kv"]),
    }
    weights = {}
    for tensor in tensors:
        rows = gguf.dequantize(tensor.data, tensor.tensor_type)
        name, part = _hf_name(tensor.name)
        if part in heads:
            rows = _unpermute(rows, heads[part])
        weights[name] = torch.from_numpy(np.array(rows, dtype=np.float32)).to(getattr(torch, dtype))
    save_file(weights, str(path), metadata={"format": "pt"})


def _hf_name(name: str) -> tuple[str, str]:
    """Hugging Face's name, and the layer's part for tensors of a layer."""
    if name in _OUTER:
        return _OUTER[name], ""
    fields = name.split(".")
    if len(fields) == 4 and fields[0] == "blk" and fields[2] in _LAYER and fields[3] == "weight":
        return f"model.layers.{fields[1]}.{_LAYER[fields[2]]}.weight", fields[2]
    raise DataError(f"unknown tensor {name!r} in the GGUF file")


def _unpermute(rows: np.ndarray, heads: int) -> np.ndarray:
    """Undo llama.cpp's interleaving of rotary halves (convert_hf_to_gguf.py, LlamaModel.permute)."""
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _write_tokenizer(values: dict[str, Any], folder: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens = values["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ", 1)) for merge in values["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    # llama.cpp's "smollm" splits digits one by one before the byte-level rule, as the model's own tokenizer does.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [
        token for token, kind in zip(tokens, values["tokenizer.ggml.token_type"], strict=True) if kind == _CONTROL
    ]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in control])
    tokenizer.save(str(folder / "tokenizer.json"))

    def named(kind: str) -> str:
        return str(tokens[int(values[f"tokenizer.ggml.{kind}_token_id"])])

    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "chat_template": values["tokenizer.chat_template"],
            "bos_token": named("bos"),
            "eos_token": named("eos"),
            "pad_token": named("padding"),
            "unk_token": named("unknown"),
            "model_max_length": int(values["llama.context_length"]),
            "clean_up_tokenization_spaces": False,
        },
    )
