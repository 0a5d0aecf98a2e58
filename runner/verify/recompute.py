"""States computed again by transformers, from the same weights: what proves layers, norm and order."""

import itertools
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from runner import hf
from runner.dataset import FeatureSet
from runner.manifest import SampleRow
from runner.protocol.errors import DataError
from runner.protocol.evidence import Check
from runner.protocol.status import Progress
from runner.stage import status
from runner.train.target import TargetWeights
from runner.verify.checking import Clock

# Row errors are |ours - theirs| / |theirs|. In float32 the worst row counts; in bfloat16 the median one, since a
# router that flips between two experts moves single rows.
WORST_ROW_FLOAT32 = 1e-4
MEDIAN_ROW_BFLOAT16 = 2e-2
_TIE = 0.02  # of the best logit: below it bfloat16 cannot tell two tokens apart
_MEMORY_SHARE = 0.6
_ROWS_AT_ONCE = 256


def choose(rows: Sequence[SampleRow], count: int, seed: str) -> list[SampleRow]:
    """By chance, one of each stretch of lengths, and the longest: chunks are joined there."""
    ordered = sorted(rows, key=lambda row: row.num_tokens)
    if len(ordered) <= count or count <= 0:
        return ordered[: max(count, 0)]
    chance, others = random.Random(seed), ordered[:-1]
    edges = [len(others) * number // (count - 1) for number in range(count)] if count > 1 else []
    return [others[chance.randrange(start, end)] for start, end in itertools.pairwise(edges)] + ordered[-1:]


def check_next_tokens(target: Path, features: FeatureSet, rows: Sequence[SampleRow]) -> list[Check]:
    """`lm_head(final)` of every sample's last row must choose the token that the engine itself chose."""
    clock = Clock()
    try:
        head = TargetWeights.open(target).head().float()
        if head.shape[1] != features.manifest.hidden_size:
            raise DataError(f"the head takes states of {head.shape[1]}, these have {features.manifest.hidden_size}")
    except DataError as error:
        return [Check("next_token", None, found=error.message, expected="the target's head", seconds=clock.lap())]
    agree, ties, wrong = 0, 0, []
    asked = [row for row in rows if row.next_token is not None]
    for some in (asked[at : at + _ROWS_AT_ONCE] for at in range(0, len(asked), _ROWS_AT_ONCE)):
        finals = [features.read(features.number_of(row.id)).last_hidden_states[-1].float() for row in some]
        for row, logits in zip(some, torch.stack(finals) @ head.T, strict=True):
            best, theirs = float(logits.max()), float(logits[row.next_token])
            if int(logits.argmax()) == row.next_token:
                agree += 1
            elif best - theirs <= _TIE * abs(best):
                ties += 1
            else:
                wrong.append(row.id)
    return [
        Check(
            "next_token",
            not wrong if asked else None,
            found=f"{agree} of {len(asked)}" + (f", {ties} near ties" if ties else ""),
            expected=f"{len(asked)} of {len(asked)}",
            detail=f"differ: {', '.join(wrong[:5])}" if wrong else "head(final) chooses as the engine did",
            seconds=clock.lap(),
        )
    ]


@dataclass(frozen=True)
class Compared:
    """One kind of state of one sample: errors of its rows, and the index of transformers' that is nearest."""

    worst: float
    median: float
    largest: float  # difference of single values
    nearest: int


def check_states(target: Path, features: FeatureSet, ids: Sequence[str]) -> list[Check]:
    """Whole samples through the whole target, where it fits in memory."""
    clock = Clock()
    names = [*map(str, features.manifest.capture.indices), "final"]
    if not ids:
        return [Check("recomputed", None, found=0, expected="samples", detail="no sample is sound enough")]
    try:
        model = hf.load_causal_lm(target, torch.float32)
    except DataError as error:
        return [Check("recomputed", None, found=0, expected=f"{len(ids)} samples", detail=error.message)]
    found: dict[str, list[Compared]] = {name: [] for name in names}
    for number, sample_id in enumerate(ids, 1):
        status().update("running", Progress(number, len(ids), "samples"), message="computing again", force=True)
        for name, compared in _compare(model, features, sample_id).items():
            found[name].append(compared)
    return [_states_check(features, ids, found, clock), _layers_check(features, found, clock)]


def room_missing(target: Path) -> str:
    """Why the target cannot be loaded here, in words; empty when it can."""
    # bfloat16 weights become float32
    return memory_missing("the target", sum(path.stat().st_size for path in target.glob("*.safetensors")) * 2)


def memory_missing(what: str, size: int) -> str:
    """Why so many bytes do not fit in memory, in words; empty when they do."""
    available = 0
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
    if size > _MEMORY_SHARE * available:
        return f"{what} needs {size / 1e9:.0f} GB, {available / 1e9:.0f} GB are free"
    return ""


def _compare(model: Any, features: FeatureSet, sample_id: str) -> dict[str, Compared]:
    sample = features.read(features.number_of(sample_id))
    ids = torch.from_numpy(sample.input_ids.astype(np.int64))[None]
    with torch.no_grad():
        states = model(ids, output_hidden_states=True).hidden_states
    theirs = [state[0].float() for state in states]
    captured = sample.aux_hidden_states.float().view(len(sample.input_ids), -1, features.manifest.hidden_size)
    indices = features.manifest.capture.indices
    pairs = [(str(index), captured[:, place], index) for place, index in enumerate(indices)]
    pairs.append(("final", sample.last_hidden_states.float(), len(theirs) - 1))  # transformers' last is normed
    return {name: _compared(ours, theirs, index) for name, ours, index in pairs}


def _compared(ours: Tensor, theirs: Sequence[Tensor], index: int) -> Compared:
    errors = row_errors(ours, theirs[index])
    medians = [float(row_errors(ours, other).median()) for other in theirs]
    return Compared(
        worst=float(errors.max()),
        median=float(errors.median()),
        largest=float((ours - theirs[index]).abs().max()),
        nearest=min(range(len(medians)), key=medians.__getitem__),
    )


def row_errors(ours: Tensor, theirs: Tensor) -> Tensor:
    """[T]: the relative error of each row."""
    errors: Tensor = (ours - theirs).norm(dim=-1) / theirs.norm(dim=-1).clamp(min=1e-12)
    return errors


def _states_check(features: FeatureSet, ids: Sequence[str], found: dict[str, list[Compared]], clock: Clock) -> Check:
    exact = features.manifest.dtype == "float32"
    limit = WORST_ROW_FLOAT32 if exact else MEDIAN_ROW_BFLOAT16
    counts = {name: max(c.worst if exact else c.median for c in all_) for name, all_ in found.items()}
    largest = max(compared.largest for all_ in found.values() for compared in all_)
    lengths = [features.num_tokens[features.number_of(sample_id)] for sample_id in ids]
    return Check(
        "recomputed",
        max(counts.values()) <= limit,
        found=f"{max(counts.values()):.1e}",
        expected=f"at most {limit:.0e}",
        detail=f"{'worst' if exact else 'median'} row of {len(ids)} samples ({', '.join(map(str, lengths))} tokens); "
        + ", ".join(f"{name}: {error:.1e}" for name, error in counts.items())
        + f"; largest single difference {largest:.1e}",
        seconds=clock.lap(),
    )


def _layers_check(features: FeatureSet, found: dict[str, list[Compared]], clock: Clock) -> Check:
    """The recorded index must be the nearest of all of transformers' states."""
    nearest = [statistics.mode(c.nearest for c in found[str(index)]) for index in features.manifest.capture.indices]
    return Check(
        "layers",
        tuple(nearest) == features.manifest.capture.indices,
        found=str(nearest),
        expected=str(list(features.manifest.capture.indices)),
        detail="the hidden_states[i] of transformers that are nearest to ours",
        seconds=clock.lap(),
    )
