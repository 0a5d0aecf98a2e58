"""A target too large to load whole: its first layers and its last are computed again.

The first run from the tokens to the first capture, the last from the stored states of the last capture to the final
state. So a slip of layers, rows or norms is found at both ends; what lies between is not recomputed, and said so.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from runner import hf
from runner.dataset import FeatureSet
from runner.protocol.errors import DataError
from runner.protocol.evidence import Check
from runner.protocol.status import Progress
from runner.stage import status
from runner.tensorfile import ITEM_BYTES, read_header
from runner.verify.checking import Clock
from runner.verify.recompute import MEDIAN_ROW_BFLOAT16, WORST_ROW_FLOAT32, memory_missing, row_errors


def check_spans(target: Path, features: FeatureSet, ids: Sequence[str], too_large: str) -> Check:
    """`too_large`: why the target is not loaded whole, in words. Open (ok None) where even a span cannot be had."""
    clock = Clock()
    indices = features.manifest.capture.indices
    exact = features.manifest.dtype == "float32"
    limit = WORST_ROW_FLOAT32 if exact else MEDIAN_ROW_BFLOAT16
    found: dict[str, float] = {}
    try:
        if not ids:
            raise DataError("no sample is sound enough")
        depth = int(hf.text_config(hf.load_config(target))["num_hidden_layers"])
        for name, layers in ((str(indices[0]), range(indices[0])), ("final", range(indices[-1], depth))):
            status().update("running", message=f"computing layers {layers.start} to {layers.stop} again", force=True)
            errors = _span(target, features, ids, layers)
            found[name] = max(float(each.max() if exact else each.median()) for each in errors)
    except (DataError, KeyError) as error:
        why = error.message if isinstance(error, DataError) else f"{target}/config.json has no {error}"
        return Check("recomputed", None, found=0, expected=f"{len(ids)} samples", detail=f"{too_large}; {why}")
    between = f"; not recomputed: {', '.join(map(str, indices[1:]))}" if len(indices) > 1 else ""
    worst = max(found.values())
    return Check(
        "recomputed",
        worst <= limit,
        found=f"{worst:.1e}",
        expected=f"at most {limit:.0e}",
        detail=f"{too_large}, so layers 0 to {indices[0]} from the tokens ({found[str(indices[0])]:.1e}) and "
        f"{indices[-1]} to {depth} from the stored states ({found['final']:.1e}), "
        f"{'worst' if exact else 'median'} row of {len(ids)} samples{between}",
        seconds=clock.lap(),
    )


def _span(target: Path, features: FeatureSet, ids: Sequence[str], layers: range) -> list[Tensor]:
    """Row errors of each sample, [T] each. Raises DataError."""
    what = f"layers {layers.start} to {layers.stop}"
    if missing := memory_missing(what, _bytes_of(target, layers)):
        raise DataError(missing)
    body = hf.load_layers(target, layers, torch.float32).model
    if layers.start == 0:
        body.norm = torch.nn.Identity()  # captures are taken before it
    errors = []
    for number, sample_id in enumerate(ids, 1):
        sample = features.read(features.number_of(sample_id))
        captured = sample.aux_hidden_states.float().view(len(sample.input_ids), -1, features.manifest.hidden_size)
        with torch.no_grad():
            if layers.start == 0:
                tokens = torch.from_numpy(sample.input_ids.astype(np.int64))[None]
                ours, theirs = captured[:, 0], body(input_ids=tokens, use_cache=False).last_hidden_state[0]
            else:
                start = captured[:, -1].contiguous()[None]
                theirs = body(inputs_embeds=start, use_cache=False).last_hidden_state[0]
                ours = sample.last_hidden_states.float()
        errors.append(row_errors(ours, theirs.float()))
        status().update("running", Progress(number, len(ids), "samples"), message=f"computing {what} again")
    return errors


def _bytes_of(target: Path, layers: range) -> int:
    """Of these layers and of all that is in no layer, in float32. Raises DataError."""
    wanted = {f".layers.{number}." for number in layers}
    total = 0
    for path in target.glob("*.safetensors"):
        for name, tensor in read_header(path).items():
            if ".layers." not in name or any(part in name for part in wanted):
                total += (tensor.end - tensor.start) // ITEM_BYTES[tensor.dtype] * 4
    return total
