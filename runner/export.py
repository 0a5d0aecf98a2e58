"""`python -m runner export`: a trained checkpoint as the folder that SGLang serves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.flags import option, parse
from runner.protocol.errors import DataError


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Write a training checkpoint as the folder that SGLang serves. `train` does this itself at its end."""

    train: Path = option("data folder of train")
    out: Path = option("folder to write")
    step: int = option("checkpoint of this step (-1: the best, else the last)", -1)


def main(argv: Sequence[str]) -> int:
    from runner.train.checkpoints import Checkpoints
    from runner.train.finish import export_checkpoint

    options = parse(ExportOptions, argv, "python -m runner export")
    checkpoints = Checkpoints(options.train / "checkpoints", keep_last=1)
    step = options.step
    if step < 0:
        last = checkpoints.load_last()
        if last is None:
            raise DataError(f"{checkpoints.folder}: no checkpoint", "run train first")
        step = last[1].best_step if last[1].best_step >= 0 else last[1].step
    export_checkpoint(options.train, options.out, checkpoints.load(step)[0])
    print(f"step {step} written to {options.out}")
    return 0
