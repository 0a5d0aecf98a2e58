"""The target's own tensors that training needs, read by name from its shards; the model is never loaded."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from runner.hf import load_config, text_config
from runner.protocol.errors import DataError
from runner.train.config import TrainConfig
from runner.train.shape import DraftShape, read_rope

PREFIXES = ("", "language_model.")  # Kimi-K2.5 keeps its text model under the second


@dataclass(frozen=True)
class TargetWeights:
    """Opens tensors of a model folder by their name without prefix, as in `model.embed_tokens.weight`."""

    folder: Path
    files: dict[str, str]  # tensor name -> file name
    config: dict[str, Any]  # of the text model

    @staticmethod
    def open(folder: Path) -> "TargetWeights":
        """Raises DataError when there is no config or no safetensors file."""
        config = text_config(load_config(folder))
        index = folder / "model.safetensors.index.json"
        if index.is_file():
            return TargetWeights(folder, dict(json.loads(index.read_text())["weight_map"]), config)
        shards = sorted(path.name for path in folder.glob("*.safetensors"))
        if not shards:
            raise DataError(f"{folder}: no safetensors weights", "give the folder of the target's Hugging Face model")
        files = {}
        for shard in shards:
            with safe_open(folder / shard, framework="pt") as file:
                files.update(dict.fromkeys(file.keys(), shard))
        return TargetWeights(folder, files, config)

    def has(self, name: str) -> bool:
        return any(prefix + name in self.files for prefix in PREFIXES)

    def read(self, name: str) -> Tensor:
        """Raises DataError when no shard holds it."""
        for prefix in PREFIXES:
            shard = self.files.get(prefix + name)
            if shard is None:
                continue
            try:
                with safe_open(self.folder / shard, framework="pt") as file:
                    tensor: Tensor = file.get_tensor(prefix + name)
                    return tensor
            except (OSError, SafetensorError) as error:
                raise DataError(f"{self.folder / shard}: {prefix + name} unreadable ({error})") from error
        raise DataError(f"{self.folder}: no tensor {name}", f"looked under the prefixes {PREFIXES}")

    def embedding(self) -> Tensor:
        """[V, H], as stored."""
        return self.read("model.embed_tokens.weight")

    def head(self) -> Tensor:
        """[V, H], as stored; the embedding where the config ties them."""
        if self.has("lm_head.weight"):
            return self.read("lm_head.weight")
        if self.config.get("tie_word_embeddings"):
            return self.embedding()
        raise DataError(f"{self.folder}: no lm_head.weight, and tie_word_embeddings is not set")

    def final_norm(self) -> Tensor:
        return self.read("model.norm.weight")

    def last_layer(self, part: str) -> Tensor:
        return self.read(f"model.layers.{self.config['num_hidden_layers'] - 1}.{part}.weight")


def draft_shape(weights: TargetWeights, config: TrainConfig, draft_vocab_size: int, num_aux: int) -> DraftShape:
    """The draft model's shape: the target's, where the settings say nothing else."""
    target = weights.config
    heads = config.num_heads or int(target["num_attention_heads"])
    kv_heads = config.num_kv_heads or int(target.get("num_key_value_heads") or heads)
    if heads % kv_heads:
        raise DataError(f"{heads} heads cannot share {kv_heads} kv heads", "--num-kv-heads must divide --num-heads")
    hidden = int(target["hidden_size"])
    return DraftShape(
        hidden_size=hidden,
        intermediate_size=config.intermediate_size or int(target["intermediate_size"]),
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=config.head_dim or _head_dim(target, hidden // heads),
        vocab_size=int(target["vocab_size"]),
        draft_vocab_size=draft_vocab_size,
        rms_norm_eps=float(target.get("rms_norm_eps") or 1e-6),
        rope=read_rope(target, config.rope),
        num_aux=num_aux,
        fc_norm=config.capture_norm == "rms",
    )


def _head_dim(target: dict[str, Any], share: int) -> int:
    """Under latent attention `head_dim` is that of the rotated part alone; the values' width is the head's."""
    latent = bool(target.get("kv_lora_rank"))
    return int(target.get("v_head_dim" if latent else "head_dim") or share)
