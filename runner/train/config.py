"""What a training run may be told: one frozen dataclass, whose fields are the flags of `python -m runner train`."""

from dataclasses import dataclass
from pathlib import Path

from runner.flags import option
from runner.protocol.errors import StageError


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Train an EAGLE-3 drafter on extracted hidden states. The same command run again resumes."""

    target: Path = option("folder of the target model: its config, embedding and head are read, never the whole model")
    features: Path = option("data folder of extract: manifest.json and samples/")
    vocab: Path = option("data folder of vocab: vocab.safetensors, the draft vocabulary")
    out: Path = option("where checkpoints/, draft/, curve.png and result.json go")

    epochs: float = option("passes over the training samples; a fraction ends inside a pass", 10.0)
    max_steps: int = option("stop after so many optimizer steps (0: as epochs say)", 0)
    time_budget_s: float = option("end training in good order after so many seconds, schedule included (0: none)", 0.0)
    pack_tokens: int = option("tokens of one forward pass: whole conversations, packed; the lever on memory", 2048)
    packs_per_step: int = option("packs of one optimizer step over all ranks together", 1)
    max_length: int = option("cut longer conversations to so many tokens (0: never)", 0)
    held_out: float = option("share of the samples kept out of training, to measure on", 0.05)
    seed: int = option("decides initial weights, held-out samples and order", 0)

    ttt_length: int = option("training-time-test steps: how far the drafter learns to feed on itself", 7)
    step_decay: float = option("weight of step k in the loss is step_decay ** k", 0.8)
    teacher_temperature: float = option(
        "temperature of the target's choice that is taught; below 1 its first choice counts for more", 1.0
    )
    intermediate_size: int = option("width of the draft layer's MLP (0: the target's)", 0)
    num_heads: int = option("query heads of the draft layer (0: the target's)", 0)
    num_kv_heads: int = option("key and value heads of the draft layer (0: the target's)", 0)
    head_dim: int = option("width of a head (0: the target's)", 0)
    rope: str = option(
        "position embedding: the target's settings, or plain RoPE with its theta", "target", ("target", "default")
    )
    capture_norm: str = option(
        "captured states as they are, or each divided by its root mean square (SGLang's fc_norm)",
        "none",
        ("none", "rms"),
    )
    init_head: str = option("draft head starts as the target head's rows, or random", "none", ("none", "target"))
    init_layer: str = option("draft layer starts as the target's last layer, or random", "none", ("none", "target"))

    optimizer: str = option(
        "adamw for everything, or muon: the layer's matrices by orthogonalised momentum", "adamw", ("adamw", "muon")
    )
    lr: float = option("peak learning rate", 1e-4)
    min_lr_ratio: float = option("the cosine ends at lr times this", 0.0)
    warmup: float = option("share of all steps over which the learning rate rises", 0.015)
    beta1: float = option("AdamW beta1", 0.9)
    beta2: float = option("AdamW beta2", 0.95)
    weight_decay: float = option("AdamW weight decay, on matrices alone", 0.0)
    clip: float = option("largest norm of the gradient (0: no clipping)", 0.5)

    dtype: str = option("compute in float32, or bfloat16 with float32 masters", "float32", ("float32", "bfloat16"))
    device: str = option("cpu, cuda, or auto: cuda where there is one", "auto", ("auto", "cpu", "cuda"))
    threads: int = option("CPU threads of torch (0: as it chooses)", 0)
    graphs: str = option(
        "replay a step as a CUDA graph: auto does so for small drafters, where launches bind",
        "auto",
        ("auto", "on", "off"),
    )
    checkpoint_activations: bool = option(
        "make the MLP's activations again in the backward pass: a third less memory, a tenth slower", False
    )
    shard: str = option(
        "where there are several ranks, each keeps all weights and optimizer state (none) or a share (full: FSDP2)",
        "none",
        ("none", "full"),
    )
    prefetch: int = option("threads that read ahead; the result never depends on it", 2)
    loss_rows: int = option("rows of logits held in memory at once (0: 2048 on a CPU, a gibibyte's worth on a GPU)", 0)

    checkpoint_every_s: float = option("seconds between checkpoints", 300.0)
    checkpoint_every: int = option("optimizer steps between checkpoints (0: by seconds alone)", 0)
    keep_last: int = option("newest checkpoints kept, besides the best", 2)
    evaluate_every: int = option("optimizer steps between measurements on held-out samples (0: once a pass)", 0)
    evaluate_samples: int = option("held-out samples measured each time (0: all)", 64)
    log_every: int = option("optimizer steps between lines of metrics", 10)

    bad_samples: str = option(
        "a damaged or missing sample: stop and name it, or skip and count it", "stop", ("stop", "skip")
    )
    check_samples: str = option(
        "what is checked when a sample is read first: its size, or its checksum too", "checksum", ("size", "checksum")
    )
    check_layers: bool = option(
        "compute one sample again with transformers, where the target fits, to see which layers were captured", True
    )
    guards: str = option(
        "an alarm about the data or the course of training: stop, or say it and go on", "warn", ("stop", "warn")
    )

    def __post_init__(self) -> None:
        for name in ("pack_tokens", "packs_per_step", "ttt_length", "keep_last", "log_every"):
            if getattr(self, name) < 1:
                raise StageError(f"--{name.replace('_', '-')} must be at least 1")
        for name in ("held_out", "warmup", "min_lr_ratio"):
            if not 0 <= getattr(self, name) < 1:
                raise StageError(f"--{name.replace('_', '-')} must lie in [0, 1)")
        if self.epochs <= 0 and self.max_steps <= 0:
            raise StageError("nothing to train: give --epochs or --max-steps")
        if self.shard == "full" and self.graphs == "on":
            raise StageError("--graphs on needs weights that stay in place: give --shard none, or --graphs auto")
        if self.teacher_temperature <= 0:
            raise StageError("--teacher-temperature must be positive")
        if self.lr <= 0 or not 0 < self.step_decay <= 1:
            raise StageError("--lr must be positive and --step-decay in (0, 1]")
