"""The part of train's evidence that computes: checkpoint against export, and the export against held-out samples."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from runner.dataset import FeatureSet
from runner.drafter import from_served
from runner.protocol.errors import StageError
from runner.protocol.evidence import Check
from runner.protocol.files import read_json
from runner.train.batches import split
from runner.train.checkpoints import Checkpoints
from runner.train.served import Drafter
from runner.train.target import TargetWeights
from runner.train.teacher import best_ids

SAMPLES = 8
TOLERANCE = 0.15  # a few hundred slots against all: the difference that chance makes


def check(
    subject: Path, step: int, result: Mapping[str, Any], features: Path | None, target: Path | None
) -> Iterator[Check]:
    """`checkpoint_loads`, `export_equals`, `replayed`."""
    try:
        tensors, position = Checkpoints(subject / "checkpoints", 1).load(step)
    except StageError as error:
        yield Check("checkpoint_loads", False, found=error.message, expected=f"step {step}")
        return
    broken = [n for n, t in tensors.items() if t.is_floating_point() and not bool(torch.isfinite(t).all())]
    yield Check(
        "checkpoint_loads",
        not broken and position.step == step,
        found=f"step {position.step}",
        expected=f"step {step}, every number finite",
        detail=", ".join(broken),
    )
    yield _export_equals(subject / "draft", tensors)
    if features is not None and target is not None:
        yield _replayed(subject, result, features, target)


def _export_equals(draft: Path, tensors: Mapping[str, torch.Tensor]) -> Check:
    """Bit by bit, in the dtype of the export."""
    served = load_file(draft / "model.safetensors")
    from runner.hf import load_config
    from runner.train.shape import shape_of

    model = from_served(served, shape_of(load_config(draft)))
    differ = [name for name, value in model.items() if not torch.equal(value, tensors[f"model.{name}"].to(value.dtype))]
    return Check(
        "export_equals",
        not differ,
        found=f"{len(model) - len(differ)} of {len(model)} weights equal",
        expected="the checkpoint's",
        detail=", ".join(differ),
    )


def _replayed(subject: Path, result: Mapping[str, Any], features: Path, target: Path) -> Check:
    """First-step accuracy of the exported drafter on held-out samples, read with a cache as a server does."""
    settings = read_json(str(subject / "plan.json"))["settings"]
    source, weights = FeatureSet.open(features), TargetWeights.open(target)
    _, held = split(source.num_supervised, settings["held_out"], settings["seed"])
    after = result.get("held_after")
    if not held or not after:
        return Check("replayed", None, found=None, expected="held-out samples", detail="none were held out")
    drafter = Drafter.load(subject / "draft", weights.embedding().float())
    head = weights.head().float()
    right = asked = 0
    for number in held[:SAMPLES]:
        sample = source.read(number)
        rows = torch.nonzero(torch.from_numpy(sample.loss_mask)[1:]).flatten() + 1
        tokens = torch.from_numpy(sample.input_ids.astype("int64"))
        hidden = drafter.extend(tokens[1:], drafter.project(sample.aux_hidden_states[:-1].float()), drafter.empty())
        proposed = torch.from_numpy(drafter.vocab.kept)[drafter.logits(hidden[rows - 1]).argmax(-1)]
        right += int((proposed == best_ids(sample.last_hidden_states[rows].float(), head)).sum())
        asked += len(rows)
    share, told = right / max(asked, 1), after["accuracy"][0]
    return Check(
        "replayed",
        abs(share - told) <= TOLERANCE,
        found=f"{share:.3f} on {asked} tokens",
        expected=f"{told:.3f} ± {TOLERANCE}",
        detail=f"{min(len(held), SAMPLES)} held-out samples through the exported drafter, as it is served",
    )
