"""What a finished run leaves beside its checkpoints: the served drafter, the curve, the numbers for cards."""

import resource
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from runner.drafter import write_draft
from runner.protocol.errors import DataError
from runner.protocol.files import read_json, write_json
from runner.train.curve import draw
from runner.train.loop import Loop
from runner.train.setup import Session
from runner.train.shape import DraftShape, stored_shape
from runner.vocab import VocabMap

PLAN = "plan.json"


@dataclass(frozen=True, kw_only=True)
class Captured:
    """What the features are, by their manifest: capture indices, the target's family, and whose config it is."""

    indices: tuple[int, ...]
    family: str
    manifest_digest: str | None


def write_plan(session: Session, captured: Captured) -> None:
    """What an export needs besides weights, and a copy of the vocabulary map: the run keeps its own."""
    out = session.config.out
    session.vocab.save(out)
    target = {key: session.weights.config.get(key) for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    write_json(
        str(out / PLAN),
        {
            "shape": asdict(session.model.shape),
            "captured": asdict(captured),
            "target": target,
            "settings": {
                name: str(value) if isinstance(value, Path) else value for name, value in asdict(session.config).items()
            },
            "vocab_digest": session.vocab.digest,
        },
    )


def read_plan(out: Path) -> tuple[DraftShape, Captured, dict[str, Any]]:
    """Shape, capture and target fields of a run's data folder. Raises DataError."""
    try:
        plan = read_json(str(out / PLAN))
        captured = dict(plan["captured"])
        captured["indices"] = tuple(captured["indices"])
        return stored_shape(plan["shape"]), Captured(**captured), dict(plan["target"])
    except (OSError, KeyError, TypeError) as error:
        raise DataError(f"{out / PLAN}: not the plan of a training run ({error!r})") from error


def export_checkpoint(train: Path, out: Path, tensors: Mapping[str, Tensor], dtype: str = "float32") -> None:
    """Write the served folder of one checkpoint's tensors. Raises DataError, CaptureMismatch."""
    shape, captured, target = read_plan(train)
    model = {name.removeprefix("model."): tensor for name, tensor in tensors.items() if name.startswith("model.")}
    write_draft(
        out,
        model,
        shape,
        VocabMap.load(train),
        indices=captured.indices,
        family=captured.family,
        target=target,
        dtype=dtype,
    )


def memory(session: Session) -> dict[str, list[int]]:
    """Of every rank: bytes of masters and optimizer state, and the most that was held at once. All ranks ask."""
    device = session.ranks.device
    on_gpu = device.type == "cuda"
    peak = (
        torch.cuda.max_memory_allocated(device) if on_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    )
    return {"held_bytes": session.ranks.each(session.optimizer.held_bytes()), "peak_bytes": session.ranks.each(peak)}


def finish(loop: Loop) -> dict[str, Any]:
    """Export the best checkpoint (the last without held-out samples), draw the curve; returns the numbers."""
    session, position = loop.session, loop.position
    out = session.config.out
    step = position.best_step if position.best_step >= 0 else position.step
    tensors, _ = session.checkpoints.load(step)
    export_checkpoint(out, out / "draft", tensors, session.config.dtype)
    draw(position.history, out / "curve.png")
    training = [line for line in position.history if "loss" in line]
    held = [line for line in position.history if "held_loss" in line]
    best = next((line for line in held if line["step"] == step), None)
    spent_s = max(loop.trained_s(), 1e-9)
    return {
        "steps": position.step,
        "epochs": position.epoch + position.step_in_epoch / max(len(session.plan(position.epoch)), 1),
        "tokens": position.tokens,
        "seconds": loop.trained_s(),
        "tokens_s": position.tokens / spent_s,
        "data_wait_share": session.reader.wait_s / spent_s,
        "train_samples": len(session.train),
        "held_samples": len(session.held),
        "skipped": position.skipped,
        "alarms": [asdict(alarm) for alarm in loop.alarms],
        "loss_first": training[0]["loss"] if training else None,
        "loss_last": training[-1]["loss"] if training else None,
        "held_before": _held(held[0]) if held else None,
        "held_after": _held(best) if best else None,
        "exported_step": step,
        "vocab_digest": session.vocab.digest,
        "parameters": sum(parameter.numel() for parameter in session.model.parameters()),
        "draft": str(out / "draft"),
        "curve": str(out / "curve.png"),
    }


def _held(line: Mapping[str, float]) -> dict[str, Any]:
    accuracy: Sequence[float] = [line[f"held_accuracy_{k}"] for k in range(100) if f"held_accuracy_{k}" in line]
    return {"step": line["step"], "loss": line["held_loss"], "accuracy": accuracy, "coverage": line["held_coverage"]}
