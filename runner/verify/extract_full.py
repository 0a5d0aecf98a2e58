"""The full look at a feature set: every byte, every value, and a few samples computed again."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from runner.conversations import Conversation
from runner.dataset import FeatureSet, Sample
from runner.journal import Journal, read_journal
from runner.manifest import Manifest, SampleRow
from runner.protocol.errors import DataError
from runner.protocol.evidence import Bad, Check
from runner.protocol.status import Progress
from runner.stage import status
from runner.verify import recompute, spans
from runner.verify.checking import Clock, every
from runner.verify.extract_picture import draw
from runner.verify.options import VerifyOptions

LOOKED = "looked.jsonl"  # what a look that did not come to its end has seen


@dataclass(frozen=True)
class Look:
    """What one pass over a sample's file found. `faults` by the name of the check; `norms` [4]: mean row norms."""

    faults: dict[str, str]
    ids_digest: str = ""
    norms: tuple[float, ...] = ()


def check(
    options: VerifyOptions, manifest: Manifest, rows: Sequence[SampleRow], wanted: dict[str, Conversation] | None
) -> tuple[list[Check], list[Bad], list[str]]:
    """Rows whose header is sound. Reads every byte once."""
    clock = Clock()
    features = FeatureSet(options.subject, manifest, rows)
    looks = _look_at_all(options, features, wanted or {})
    checks, bad = [], []
    for name, detail in (
        ("checksums", "crc32 of every byte"),
        ("values", "every value finite"),
        ("ids", "tokens and mask as synth has them"),
    ):
        found = [Bad(row.id, look.faults[name]) for row, look in zip(rows, looks, strict=True) if name in look.faults]
        checks.append(every(name, len(rows), found, clock, detail))
        bad += found
    twins = _twins(rows, looks)
    checks.append(every("duplicates", len(rows), twins, clock, "no two samples have the same tokens"))
    bad += twins
    ill = {item.id for item in bad}
    sound = [(row, look) for row, look in zip(rows, looks, strict=True) if row.id not in ill]
    if options.target is None:
        checks.append(Check("recomputed", None, found=None, expected="the target", detail="--target was not given"))
    else:
        checks += recompute.check_next_tokens(options.target, features, [row for row, _ in sound])
        chosen = recompute.choose([row for row, _ in sound], options.recompute, seed=features.digest)
        ids = [row.id for row in chosen]
        if too_large := recompute.room_missing(options.target):
            checks.append(spans.check_spans(options.target, features, ids, too_large))
        else:
            checks += recompute.check_states(options.target, features, ids)
    picture = options.evidence_folder / "extract.png"
    draw(picture, manifest, [row.num_tokens for row in rows], [look.norms for _, look in sound])
    return checks, bad, [str(picture)]


def _look_at_all(options: VerifyOptions, features: FeatureSet, wanted: dict[str, Conversation]) -> list[Look]:
    """Resumes a look that was cut short; one that came to its end is forgotten, so that the next reads all again."""
    path = features.folder / LOOKED
    before = {entry.pop("id"): entry for entry in read_journal(path)}
    looks = []

    def look_at(number: int) -> Look:
        row = features.rows[number]
        entry = before.get(row.id)
        if entry and entry["stamp"] == _stamp(features, row):
            return Look({}, entry["ids_digest"], tuple(entry["norms"]))
        return _look_at(features, number, wanted)

    with Journal(path) as journal, ThreadPoolExecutor(options.workers or None) as pool:
        for row, look in zip(features.rows, pool.map(look_at, range(len(features))), strict=True):
            looks.append(look)
            if not look.faults:
                stamp = {"stamp": _stamp(features, row), "ids_digest": look.ids_digest, "norms": look.norms}
                journal.append({"id": row.id, **stamp})
            status().update("running", Progress(len(looks), len(features), "samples"), message="reading every byte")
    path.unlink()
    return looks


def _stamp(features: FeatureSet, row: SampleRow) -> list[object]:
    """Changes when the set, the row or the file does."""
    try:
        found = (features.folder / row.file).stat()
    except OSError:
        return []
    return [features.digest, row.checksum, found.st_size, found.st_mtime_ns, found.st_ino]


def _look_at(features: FeatureSet, number: int, wanted: dict[str, Conversation]) -> Look:
    row = features.rows[number]
    try:
        checksum = features.checksum(number)
        sample = features.read(number)
    except (DataError, OSError) as error:
        return Look({"checksums": str(error)})
    faults = {}
    if checksum != row.checksum:
        faults["checksums"] = f"{checksum}, written as {row.checksum}"
    for name, states in (("aux", sample.aux_hidden_states), ("last", sample.last_hidden_states)):
        if not torch.isfinite(states).all():
            faults["values"] = f"{name}_hidden_states hold NaN or infinity"
    complaint = _ids_fault(sample, row, wanted.get(row.id))
    if complaint:
        faults["ids"] = complaint
    heads = sample.aux_hidden_states.float().view(row.num_tokens, -1, features.manifest.hidden_size)
    norms = (*heads.norm(dim=-1).mean(0).tolist(), float(sample.last_hidden_states.float().norm(dim=-1).mean()))
    return Look(
        faults,
        hashlib.sha256(sample.input_ids.tobytes()).hexdigest(),
        norms,
    )


def _ids_fault(sample: Sample, row: SampleRow, conversation: Conversation | None) -> str:
    if int(sample.loss_mask.sum()) != row.num_supervised or sample.loss_mask.max(initial=0) > 1:
        return f"the mask supervises {int(sample.loss_mask.sum())} tokens, its row says {row.num_supervised}"
    if conversation is None:
        return ""
    length = row.num_tokens  # a cut conversation is the beginning of synth's
    if not np.array_equal(sample.input_ids, np.array(conversation.input_ids[:length], dtype=np.int32)):
        return "other tokens than synth's: another sample's file?"
    mask = np.zeros(len(conversation.input_ids), dtype=np.uint8)
    for start, end in conversation.supervised:
        mask[start:end] = 1
    return "" if np.array_equal(sample.loss_mask, mask[:length]) else "another mask than synth's"


def _twins(rows: Sequence[SampleRow], looks: Sequence[Look]) -> list[Bad]:
    first: dict[str, str] = {}
    bad = []
    for row, look in zip(rows, looks, strict=True):
        if look.ids_digest and first.setdefault(look.ids_digest, row.id) != row.id:
            bad.append(Bad(row.id, f"the same tokens as {first[look.ids_digest]}"))
    return bad
