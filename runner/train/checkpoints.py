"""Checkpoints: one file each, whole or absent, with everything that the next step depends on."""

import errno
import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from runner.protocol.errors import DataError, DiskFull

_NAME = re.compile(r"^step-(\d{9})\.safetensors$")
_VERSION = 1


@dataclass
class Position:
    """Where a run stands, and what it has seen. All of it is in the checkpoint."""

    step: int = 0  # optimizer steps done
    epoch: int = 0
    step_in_epoch: int = 0
    tokens: int = 0
    trained_s: float = 0.0
    best_step: int = -1
    best_loss: float = float("inf")
    skipped: dict[str, str] = field(default_factory=dict)  # bad samples by id: why
    history: list[dict[str, float]] = field(default_factory=list)  # for the curve and the guards
    settings: dict[str, Any] = field(default_factory=dict)  # what may not change on resume


class Checkpoints:
    """The folder `checkpoints/` of a run."""

    def __init__(self, folder: Path, keep_last: int) -> None:
        self.folder, self.keep_last = folder, keep_last

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:09d}.safetensors"

    def steps(self) -> list[int]:
        """Steps of the complete checkpoints, ascending."""
        if not self.folder.is_dir():
            return []
        found = (_NAME.match(path.name) for path in self.folder.iterdir())
        return sorted(int(match.group(1)) for match in found if match)

    def save(self, tensors: dict[str, Tensor], position: Position) -> Path:
        """Write one, then drop those beyond keep-last and best. Raises DiskFull; what was there stays."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(position.step)
        partial = self.folder / f".{path.name}.partial"
        state = json.dumps({"version": _VERSION, **asdict(position)})
        try:
            whole = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
            whole["rng.cpu"] = torch.get_rng_state()
            save_file(whole, partial, metadata={"state": state})
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(partial, path)  # noqa: PTH105
            _sync_folder(self.folder)
        except (OSError, SafetensorError) as error:
            partial.unlink(missing_ok=True)
            full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
            if full or "No space left" in str(error) or "quota" in str(error).lower():
                raise DiskFull(
                    f"no space left for {path}", "free space on that disk, then run again: it resumes"
                ) from error
            raise
        self._prune(position)
        return path

    def _prune(self, position: Position) -> None:
        keep = {*self.steps()[-self.keep_last :], position.best_step}
        for step in self.steps():
            if step not in keep:
                self.path(step).unlink()

    def load(self, step: int) -> tuple[dict[str, Tensor], Position]:
        """Raises DataError when the file is missing, damaged or of another version."""
        path = self.path(step)
        try:
            with safe_open(path, framework="pt") as file:
                state = json.loads((file.metadata() or {})["state"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise DataError(
                f"{path}: unreadable checkpoint ({error})", "delete it: the run resumes from the one before"
            ) from error
        if state.pop("version", None) != _VERSION:
            raise DataError(f"{path}: another version of checkpoint")
        return tensors, Position(**state)

    def load_last(self) -> tuple[dict[str, Tensor], Position] | None:
        """The newest checkpoint, or None without any. A damaged one is an error, never silently passed over."""
        steps = self.steps()
        return self.load(steps[-1]) if steps else None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
