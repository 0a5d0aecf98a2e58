"""Tiny random models of the families whose capture differs: Llama, DeepSeek-V3, Kimi-K2.5's wrapper. For tests."""

import json
from pathlib import Path
from typing import Any

from runner.hf import import_transformers

VOCAB = 512
_SPECIAL = ("<unk>", "<s>", "</s>", "<pad>", "<|user|>", "<|assistant|>", "<|system|>")
# One block a turn, closed by </s>: the same shape as real chat templates have.
_TEMPLATE = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '</s>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
_SHARED: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 3,
    "tie_word_embeddings": False,
    "initializer_range": 0.06,
}


def write_llama(folder: Path, dtype: str, seed: int = 0) -> None:
    """8 layers, grouped-query attention."""
    import torch

    transformers = import_transformers()
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(**_SHARED, num_hidden_layers=8, num_key_value_heads=2, head_dim=32)
    _save(transformers.LlamaForCausalLM(config), folder, dtype)


def write_deepseek_v3(folder: Path, dtype: str, seed: int = 1) -> None:
    """6 layers: latent attention, one dense layer, then 8 routed experts and a shared one; YaRN."""
    import torch

    transformers = import_transformers()
    torch.manual_seed(seed)
    config = transformers.DeepseekV3Config(
        **_SHARED,
        num_hidden_layers=6,
        num_key_value_heads=4,
        moe_intermediate_size=64,
        n_shared_experts=1,
        n_routed_experts=8,
        num_experts_per_tok=2,
        routed_scaling_factor=2.5,
        first_k_dense_replace=1,
        norm_topk_prob=True,
        n_group=1,
        topk_group=1,
        kv_lora_rank=64,
        q_lora_rank=64,
        qk_rope_head_dim=32,
        qk_nope_head_dim=32,
        v_head_dim=32,
        num_nextn_predict_layers=0,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 50000.0,
            "factor": 4.0,
            "original_max_position_embeddings": 1024,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    )
    model = transformers.DeepseekV3ForCausalLM(config)
    _spread_routing(model)
    _save(model, folder, dtype)
    _add_config(folder, moe_layer_freq=1, topk_method="noaux_tc", scoring_func="sigmoid")


def write_kimi_k25(folder: Path, dtype: str, seed: int = 1) -> None:
    """The DeepSeek-V3 above as the language model of Kimi-K2.5's wrapper, with the smallest vision tower."""
    from safetensors.torch import load_file, save_file

    write_deepseek_v3(folder, dtype, seed)
    weights = folder / "model.safetensors"
    tensors = load_file(weights)
    save_file({f"language_model.{name}": tensor for name, tensor in tensors.items()}, weights, {"format": "pt"})
    path = folder / "config.json"
    text = json.loads(path.read_text(encoding="utf-8"))
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "mm_hidden_size": 32,
        "vt_hidden_size": 32,
        "text_hidden_size": text["hidden_size"],
    }
    config = {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "dtype": dtype,
        "text_config": text,
        "vision_config": vision,
        "media_placeholder_token_id": VOCAB - 1,
        **{name: text[name] for name in ("bos_token_id", "eos_token_id", "pad_token_id")},
    }
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    # As Kimi's own folder does, it brings the code of its processor: SGLang asks for this much of it.
    (folder / "processing_tiny.py").write_text(_PROCESSOR, encoding="utf-8")
    auto_map = {"auto_map": {"AutoProcessor": "processing_tiny.TinyProcessor"}, "processor_class": "TinyProcessor"}
    for name in ("processor_config.json", "preprocessor_config.json"):
        (folder / name).write_text(json.dumps(auto_map) + "\n", encoding="utf-8")


_PROCESSOR = """from types import SimpleNamespace

from transformers import AutoTokenizer


class TinyProcessor:
    @classmethod
    def register_for_auto_class(cls, auto_class="AutoProcessor"):
        pass

    @classmethod
    def from_pretrained(cls, folder, **kwargs):
        made = cls()
        made.tokenizer = AutoTokenizer.from_pretrained(folder)
        limits = {"in_patch_limit": 64, "patch_limit_on_one_side": 8, "patch_size": 14, "merge_kernel_size": 2}
        settings = {**limits, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
        made.image_processor = made.media_processor = SimpleNamespace(media_proc_cfg=settings)
        return made
"""


def _spread_routing(model: Any) -> None:
    """Random routers choose nearly by chance: make their choices clear, so that rounding does not flip them."""
    import torch

    for name, parameter in model.named_parameters():
        if name.endswith("gate.weight"):
            torch.nn.init.normal_(parameter, std=0.2)
    for name, buffer in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            buffer.normal_(std=0.01)


def _vary_norms(model: Any) -> None:
    """Fresh norms have weights of one, and applying them twice would change nothing: give them weights."""
    import torch

    for name, parameter in model.named_parameters():
        if "norm" in name:
            torch.nn.init.uniform_(parameter, 0.5, 1.5)


def _save(model: Any, folder: Path, dtype: str) -> None:
    import torch

    _vary_norms(model)
    model.to(getattr(torch, dtype)).save_pretrained(str(folder))
    _write_tokenizer(folder)


def _add_config(folder: Path, **fields: Any) -> None:
    """Fields that SGLang reads and transformers does not write."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, **fields}, indent=2) + "\n", encoding="utf-8")


def _write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(  # type: ignore[no-untyped-call]
        vocab_size=VOCAB,
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the quick brown fox jumps over the lazy dog", "hello world"] * 20, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": _TEMPLATE,
        "unk_token": "<unk>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
