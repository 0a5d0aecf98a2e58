"""A target, a vocabulary and feature sets of random tensors on disk, of a size that a training bench asks for."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from ops.train_peers import Size
from runner.manifest import Capture, Engine, Model, SampleRow, write_set
from runner.protocol.files import write_json
from runner.vocab import VocabMap

FILES = 4  # that the rows of a set share: a thousand samples take no more room
INDICES = (1, 2, 3)


def build(root: Path, size: Size, on_gpu: bool) -> None:
    """`root`: target/, vocab/ and samples/. States point at a token of the draft vocabulary nine times in ten."""
    device, dtype = torch.device("cuda" if on_gpu else "cpu"), torch.bfloat16 if on_gpu else torch.float32
    gen = torch.Generator(device).manual_seed(0)
    rand = lambda *shape: torch.randn(*shape, generator=gen, device=device)  # noqa: E731
    ints = lambda below, *shape: torch.randint(below, shape, generator=gen, device=device)  # noqa: E731
    head, embedding = (rand(size.vocab, size.hidden).to(dtype) for _ in range(2))
    _write_target(root / "target", size, {"lm_head.weight": head, "model.embed_tokens.weight": embedding})
    kept = torch.randperm(size.vocab, generator=gen, device=device)[: size.draft_vocab].sort().values
    (root / "vocab").mkdir()
    VocabMap(kept.cpu().numpy(), size.vocab).save(root / "vocab")
    (root / "samples").mkdir()
    for number in range(FILES):
        inside = torch.rand(size.length, generator=gen, device=device) < 0.9
        aim = torch.where(inside, kept[ints(size.draft_vocab, size.length)], ints(size.vocab, size.length))
        last = head[aim].float() * 4 / size.hidden**0.5 + 0.5 * rand(size.length, size.hidden)
        sample = {
            "input_ids": ints(size.vocab, size.length).int(),
            "loss_mask": torch.ones(size.length, dtype=torch.uint8),
            "aux_hidden_states": rand(size.length, 3 * size.hidden).to(dtype), "last_hidden_states": last.to(dtype),
        }  # fmt: skip
        save_file({name: tensor.cpu() for name, tensor in sample.items()}, root / f"samples/{number}.safetensors")


def write_rows(root: Path, name: str, size: Size, count: int, dtype: str) -> Path:
    """A feature set of `count` samples, whose files are those that `build` made."""
    folder = root / name
    folder.mkdir()
    (folder / "samples").symlink_to(root / "samples")
    rows = []
    for number in range(count):
        file = f"samples/{number % FILES}.safetensors"
        rows.append(
            SampleRow(
                id=f"s{number}",
                file=file,
                num_tokens=size.length,
                num_supervised=size.length,
                bytes=(folder / file).stat().st_size,
                checksum="",
                finite=True,
            )
        )
    write_set(
        folder, rows,
        model=Model(name="random", path="", revision="", config_digest="", model_type="llama", vocab_size=size.vocab),
        engine=Engine(name="none", version="", patch_digest=""),
        capture=Capture(indices=INDICES, layer_ids=tuple(i - 1 for i in INDICES), captured=INDICES, family="llama"),
        dtype=dtype, hidden_size=size.hidden, tokenizer_digest="", source_digest="", created_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    return folder


def _write_target(folder: Path, size: Size, tensors: dict[str, Tensor]) -> None:
    folder.mkdir(parents=True)
    save_file({name: tensor.cpu() for name, tensor in tensors.items()}, folder / "model.safetensors")
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": size.vocab,
        "hidden_size": size.hidden, "intermediate_size": size.inner, "num_hidden_layers": 4,
        "num_attention_heads": size.heads, "num_key_value_heads": size.kv_heads, "head_dim": size.head_dim,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": max(4096, size.length + 16),
        "tie_word_embeddings": False,
    }  # fmt: skip
    write_json(str(folder / "config.json"), config)
