"""Everything that a run needs before its first step."""

import hashlib
import json
import math
from dataclasses import dataclass, fields
from typing import Any

import torch

from runner.protocol.errors import DataError
from runner.train.batches import Reader, Source, plan_epoch, split
from runner.train.checkpoints import Checkpoints, Position
from runner.train.config import TrainConfig
from runner.train.measure import Choices, Target
from runner.train.model import DraftModel
from runner.train.optimizer import Optimizer
from runner.train.ranks import Ranks
from runner.train.spread import Replicated, Sharded
from runner.train.start import initialise
from runner.train.target import TargetWeights, draft_shape
from runner.train.teacher import TargetHead
from runner.vocab import VocabMap

# What decides the weights that come out; the rest may change between a run and its resumption.
FIXED = (
    "epochs",
    "max_steps",
    "pack_tokens",
    "packs_per_step",
    "max_length",
    "held_out",
    "seed",
    "ttt_length",
    "step_decay",
    "teacher_temperature",
    "intermediate_size",
    "num_heads",
    "num_kv_heads",
    "head_dim",
    "rope",
    "capture_norm",
    "init_head",
    "init_layer",
    "optimizer",
    "lr",
    "min_lr_ratio",
    "warmup",
    "beta1",
    "beta2",
    "weight_decay",
    "clip",
    "dtype",
)


@dataclass(frozen=True, kw_only=True)
class Session:
    """The parts of one run, made by `prepare`."""

    config: TrainConfig
    source: Source
    ranks: Ranks
    dtype: torch.dtype
    vocab: VocabMap
    weights: TargetWeights
    target: Target
    choices: Choices
    model: DraftModel
    spread: Replicated
    optimizer: Optimizer
    checkpoints: Checkpoints
    reader: Reader
    train: list[int]
    held: list[int]
    lengths: list[int]

    def plan(self, epoch: int) -> list[list[list[int]]]:
        """Steps of packs of sample numbers."""
        config = self.config
        return plan_epoch(self.train, self.lengths, config.seed, epoch, config.pack_tokens, config.packs_per_step)

    def total_steps(self) -> int:
        whole, part = math.floor(self.config.epochs), self.config.epochs % 1
        steps = sum(len(self.plan(epoch)) for epoch in range(whole)) + math.ceil(part * len(self.plan(whole)))
        return min(steps, self.config.max_steps) if self.config.max_steps else steps


def prepare(config: TrainConfig, source: Source, num_aux: int, ranks: Ranks) -> Session:
    """Read the target's tensors and the vocabulary, build the drafter. Raises DataError when they do not fit."""
    if config.threads:
        torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)  # nothing draws from it today; a checkpoint holds its state all the same
    dtype = torch.bfloat16 if config.dtype == "bfloat16" else torch.float32
    weights = TargetWeights.open(config.target)
    vocab = VocabMap.load(config.vocab)
    embedding, head = weights.embedding(), weights.head()
    if vocab.vocab_size != head.shape[0]:
        raise DataError(
            f"the vocabulary map is for {vocab.vocab_size} tokens, the target's head has {head.shape[0]}",
            "run vocab again for this target",
        )
    kept = torch.from_numpy(vocab.kept)
    model = DraftModel(draft_shape(weights, config, len(vocab.kept), num_aux))
    initialise(model, weights, kept, config.init_head, config.init_layer, config.seed)
    shared = config.shard == "full" and ranks.size > 1
    model.to(device=ranks.device, dtype=torch.float32 if shared else dtype)
    model.checkpoint_activations = config.checkpoint_activations
    spread = Sharded(model, ranks, dtype) if shared else Replicated()
    target_head = TargetHead.make(head.to(ranks.device, dtype), kept.to(ranks.device), config.teacher_temperature)
    train, held = split(source.num_supervised, config.held_out, config.seed)
    if not train:
        raise DataError("no sample with a supervised token to train on", "look at extract's loss masks")
    return Session(
        config=config,
        source=source,
        ranks=ranks,
        dtype=dtype,
        vocab=vocab,
        weights=weights,
        target=Target(embedding_VH=embedding.to(ranks.device, dtype), head=target_head),
        choices=Choices(target_head),
        model=model,
        spread=spread,
        optimizer=Optimizer(model, config, spread),
        checkpoints=Checkpoints(config.out / "checkpoints", config.keep_last),
        reader=Reader(
            source,
            config.ttt_length,
            config.max_length,
            config.bad_samples == "skip",
            config.prefetch,
            pinned=ranks.device.type == "cuda",
        ),
        train=train,
        held=held,
        lengths=[min(n, config.max_length) if config.max_length else n for n in source.num_tokens],
    )


def settings(session: Session) -> dict[str, Any]:
    """What a checkpoint belongs to: the settings that fix its weights, the vocabulary map and the data."""
    samples = json.dumps([list(session.source.ids), list(session.source.num_tokens)])
    return {
        **{name: getattr(session.config, name) for name in FIXED},
        "vocab_digest": session.vocab.digest,
        "samples_digest": hashlib.sha256(samples.encode()).hexdigest(),
    }


def resume(session: Session) -> Position:
    """Take up the newest checkpoint, or start. Raises DataError when it belongs to other settings, map or data."""
    wanted = settings(session)
    found = session.checkpoints.load_last()
    if found is None:
        return Position(settings=wanted)
    tensors, position = found
    # A setting that the checkpoint does not know came later, and its default keeps what was before it.
    former = {each.name: each.default for each in fields(TrainConfig)} | position.settings
    differ = [name for name in wanted if former.get(name) != wanted[name]]
    if differ:
        told = ", ".join(f"{name} was {former.get(name)}, now {wanted[name]}" for name in differ)
        raise DataError(
            f"{session.checkpoints.folder} holds a run of other settings: {told}",
            "give another --out for a new run, or the former settings and data to resume",
        )
    session.optimizer.restore(tensors)
    torch.set_rng_state(tensors["rng.cpu"])
    return position
