"""A tiny target and feature set on disk, in the contract's layout: small enough to train in a second, yet learnable.

Tokens follow a fixed walk, x[t+1] = walk[x[t]], with a few surprises; the last hidden state points at the next
token's row of the head, and the captured states hold what a drafter needs to find it.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from runner.manifest import Capture, Engine, Model, SampleRow, file_checksum, write_set
from runner.train.config import TrainConfig

H, V, HEADS, KV, INNER, LAYERS = 32, 96, 4, 2, 48, 6
INDICES = (1, 3, 5)


def write_target(folder: Path, seed: int = 0) -> dict[str, torch.Tensor]:
    """config.json and the tensors that training reads, as a Llama has them."""
    gen = torch.Generator().manual_seed(seed)
    rand = lambda *size: torch.randn(*size, generator=gen) / size[-1] ** 0.5  # noqa: E731
    layer, width = f"model.layers.{LAYERS - 1}.", H // HEADS
    tensors = {
        "model.embed_tokens.weight": rand(V, H) * H**0.5,
        "lm_head.weight": rand(V, H) * H**0.5,
        "model.norm.weight": 1 + 0.2 * torch.randn(H, generator=gen),
        layer + "self_attn.q_proj.weight": rand(H, H),
        layer + "self_attn.k_proj.weight": rand(KV * width, H),
        layer + "self_attn.v_proj.weight": rand(KV * width, H),
        layer + "self_attn.o_proj.weight": rand(H, H),
        layer + "mlp.gate_proj.weight": rand(INNER, H),
        layer + "mlp.up_proj.weight": rand(INNER, H),
        layer + "mlp.down_proj.weight": rand(H, INNER),
        layer + "input_layernorm.weight": torch.ones(H),
        layer + "post_attention_layernorm.weight": torch.ones(H),
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": V, "hidden_size": H,
        "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": KV, "rms_norm_eps": 1e-5, "max_position_embeddings": 256, "rope_theta": 10000.0,
        "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return tensors


def make_samples(target: dict[str, torch.Tensor], count: int, seed: int = 1) -> list[dict[str, torch.Tensor]]:
    gen = torch.Generator().manual_seed(seed)
    walk = torch.randperm(V, generator=gen)
    mixing = torch.randn(3 * H, 2 * H, generator=gen) / (2 * H) ** 0.5
    norm = target["model.norm.weight"]
    samples = []
    for _ in range(count):
        length = int(torch.randint(12, 40, (1,), generator=gen))
        ids = torch.zeros(length, dtype=torch.int64)
        ids[0] = torch.randint(V, (1,), generator=gen)
        for t in range(1, length):
            surprise = torch.rand(1, generator=gen) < 0.05
            ids[t] = torch.randint(V, (1,), generator=gen) if surprise else walk[ids[t - 1]]
        mask = torch.ones(length, dtype=torch.uint8)
        mask[: int(torch.randint(1, 9, (1,), generator=gen))] = 0
        state = target["lm_head.weight"][walk[ids]] / norm + 0.1 * torch.randn(length, H, generator=gen)
        last = state / state.pow(2).mean(-1, keepdim=True).add(1e-5).sqrt() * norm
        aux = torch.cat([target["model.embed_tokens.weight"][ids], last], 1) @ mixing.T
        samples.append(
            {"input_ids": ids.int(), "loss_mask": mask, "aux_hidden_states": aux, "last_hidden_states": last}
        )
    return samples


def write_features(
    folder: Path,
    samples: list[dict[str, torch.Tensor]],
    indices: tuple[int, ...] = INDICES,
    hidden: int = H,
    vocab: int = V,
) -> None:
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    rows = []
    for number, sample in enumerate(samples):
        path = folder / "samples" / f"c{number:03d}.safetensors"
        save_file({name: tensor.contiguous() for name, tensor in sample.items()}, path)
        rows.append(
            SampleRow(
                id=f"c{number:03d}",
                file=f"samples/{path.name}",
                num_tokens=len(sample["input_ids"]),
                num_supervised=int(sample["loss_mask"].sum()),
                bytes=path.stat().st_size,
                checksum=file_checksum(path),
                finite=True,
            )
        )
    write_set(
        folder, rows,
        model=Model(name="tiny", path="", revision="0", config_digest="0", model_type="llama", vocab_size=vocab),
        engine=Engine(name="none", version="0", patch_digest="0"),
        capture=Capture(
            indices=indices, layer_ids=tuple(i - 1 for i in indices), captured=indices, family="llama"
        ),
        dtype="float32", hidden_size=hidden, tokenizer_digest="0", source_digest="0", created_at="2026-01-01T00:00:00Z",
    )  # fmt: skip


def config(root: Path, **changes: object) -> TrainConfig:
    given: dict[str, object] = {
        "target": root / "target", "features": root / "features", "vocab": root / "vocab", "out": root / "train",
        "epochs": 3.0, "pack_tokens": 64, "lr": 3e-3, "ttt_length": 3, "threads": 1, "device": "cpu",
        "held_out": 0.15, "log_every": 1, "prefetch": 0, "check_layers": False,
    }  # fmt: skip
    return TrainConfig(**{**given, **changes})  # type: ignore[arg-type]


def flags(settings: TrainConfig) -> list[str]:
    """The command line that means `settings`."""
    import dataclasses

    argv = []
    for field in dataclasses.fields(settings):
        value, name = getattr(settings, field.name), field.name.replace("_", "-")
        argv += [f"--{'' if value else 'no-'}{name}"] if isinstance(value, bool) else [f"--{name}", str(value)]
    return argv
