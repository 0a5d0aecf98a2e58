"""The drafter's config, checked before a server is started for it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.drafter import captured_indices
from runner.hf import load_config, text_config
from runner.manifest import read_manifest
from runner.protocol.errors import CaptureMismatch, DataError


@dataclass(frozen=True, kw_only=True)
class DraftConfig:
    """What the benchmark needs to know of a drafter. `indices`: the states that SGLang will capture for it."""

    architectures: tuple[str, ...]
    indices: tuple[int, ...]


def read_draft_config(folder: Path, target: Path) -> DraftConfig:
    """Raises DataError when the folder holds no drafter, or one for another target (hidden size, vocabulary)."""
    config = load_config(folder)
    if not (folder / "model.safetensors").is_file():
        raise DataError(f"{folder}: no model.safetensors", "give the folder that the export wrote")
    wanted = text_config(load_config(target))
    sizes = (
        ("hidden size", config.get("target_hidden_size") or config.get("hidden_size"), wanted.get("hidden_size")),
        ("vocabulary", config.get("vocab_size"), wanted.get("vocab_size")),
    )
    for name, here, there in sizes:
        if here != there:
            raise DataError(f"{folder}: {name} {here}, {target} has {there}", "this drafter is for another target")
    return DraftConfig(architectures=tuple(config.get("architectures") or ()), indices=_indices(config, wanted))


def check_capture(draft: DraftConfig, features: Path) -> None:
    """Raises CaptureMismatch when the served drafter would read other states than those it was trained on.

    Nothing else would say so: an index off by one costs a tenth of acceptance length and raises no error.
    """
    trained = read_manifest(features).capture.indices
    if trained != draft.indices:
        raise CaptureMismatch(
            f"SGLang would capture {list(draft.indices)} for this drafter, it was trained on {list(trained)}",
            "export it again from its training run",
        )


def file_digest(path: Path) -> str:
    """sha256 of a whole file: drafters of one shape differ in nothing else."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _indices(config: dict[str, Any], target: dict[str, Any]) -> tuple[int, ...]:
    ids = (config.get("eagle_config") or {}).get("eagle_aux_hidden_state_layer_ids")
    if ids is None:  # what SGLang 0.5.23 falls back to
        layers = int(target["num_hidden_layers"])
        return (2, layers // 2, layers - 3)
    return tuple(captured_indices([int(number) for number in ids], str(target.get("model_type", ""))))
