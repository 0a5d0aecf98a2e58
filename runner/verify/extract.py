"""Evidence for a feature set. The quick part reads tables and headers alone, with the standard library."""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runner import conversations, hf, identity
from runner.conversations import Conversation
from runner.drafter import captured_indices
from runner.manifest import Manifest, SampleRow, complain_of_tensors, read_manifest, read_rows
from runner.protocol.errors import DataError, ProtocolError
from runner.protocol.evidence import Bad, Check
from runner.protocol.files import read_json
from runner.tensorfile import read_header
from runner.verify.checking import Clock, every
from runner.verify.options import VerifyOptions

Found = tuple[list[Check], list[Bad], list[str]]


def check_extract(options: VerifyOptions) -> Found:
    """Look at a data folder of extract; `options.samples` and `options.target` are compared with where given."""
    clock = Clock()
    try:
        manifest = read_manifest(options.subject)
        rows = read_rows(options.subject, manifest.samples)
    except DataError as error:
        return [Check("manifest", False, found=error.message, expected="a manifest and its table")], [], []
    digest = manifest.samples.digest[:12]
    checks = [Check("manifest", True, found=digest, expected=digest, detail="digest of the table", seconds=clock.lap())]
    wanted = _wanted(options, checks)
    bad: list[Bad] = []
    for name, found, detail in (
        ("samples", _absent(rows, wanted), "every conversation of synth has a row"),
        ("headers", _over(options, rows, lambda row: _header_fault(options.subject, manifest, row)), "rows = tokens"),
        ("finite", [Bad(row.id, "values are not finite") for row in rows if not row.finite], "as seen while writing"),
        ("mask", [Bad(row.id, "no supervised token") for row in rows if row.num_supervised < 1], "supervised tokens"),
    ):
        checks.append(every(name, len(wanted or rows) if name == "samples" else len(rows), found, clock, detail))
        bad += found
    checks += [_sums(rows, manifest, clock), _layers(manifest, clock), *_origin(options, manifest, clock)]
    pictures: list[str] = []
    if options.is_full:
        from runner.verify import extract_full

        ill = {item.id for item in bad if item.why != "values are not finite"}
        deep = extract_full.check(options, manifest, [row for row in rows if row.id not in ill], wanted)
        checks, bad, pictures = checks + deep[0], bad + deep[1], deep[2]
    bad = list({item.id: item for item in reversed(bad)}.values())[::-1]
    if options.quarantine:
        _put_aside(options.subject, rows, bad)
    return checks, bad, pictures


def _wanted(options: VerifyOptions, checks: list[Check]) -> dict[str, Conversation] | None:
    """The conversations that should be in the set, by id; None when synth's folder is not given."""
    if options.samples is None:
        return None
    try:
        result = options.subject / "result.json"
        left_out = read_json(str(result)).get("left_out", {}) if result.is_file() else {}
        found = conversations.read_conversations(options.samples)
    except (DataError, ProtocolError, OSError) as error:
        checks.append(Check("source", False, found=str(error), expected="synth's table"))
        return None
    if left_out:
        words = "; ".join(f"{name}: {why}" for name, why in list(left_out.items())[:3])
        checks.append(Check("left_out", True, found=len(left_out), expected="by the stated rule", detail=words))
    return {conversation.id: conversation for conversation in found if conversation.id not in left_out}


def _absent(rows: Sequence[SampleRow], wanted: dict[str, Conversation] | None) -> list[Bad]:
    if wanted is None:
        return []
    have = {row.id: row for row in rows}
    bad = [Bad(name, "not in the set") for name in wanted if name not in have]
    bad += [Bad(name, "not among synth's conversations") for name in have if name not in wanted]
    for name, conversation in wanted.items():
        row = have.get(name)
        if row is not None and row.num_supervised != conversation.num_supervised:
            bad.append(Bad(name, f"{row.num_supervised} supervised tokens, synth has {conversation.num_supervised}"))
    return bad


def _over(options: VerifyOptions, rows: Sequence[SampleRow], fault: Callable[[SampleRow], str]) -> list[Bad]:
    with ThreadPoolExecutor(options.workers or None) as pool:
        return [Bad(row.id, why) for row, why in zip(rows, pool.map(fault, rows), strict=True) if why]


def _header_fault(folder: Path, manifest: Manifest, row: SampleRow) -> str:
    try:
        tensors = read_header(folder / row.file)
    except DataError as error:
        return error.message
    complaint = complain_of_tensors(manifest, row.num_tokens, tensors)
    size = max(info.end for info in tensors.values())
    return complaint or ("" if size == row.bytes else f"{size} bytes, its row says {row.bytes}")


def _sums(rows: Sequence[SampleRow], manifest: Manifest, clock: Clock) -> Check:
    found = (len(rows), sum(row.num_tokens for row in rows), sum(row.bytes for row in rows))
    told = (manifest.samples.count, manifest.samples.tokens, manifest.samples.bytes)
    words = "{} samples, {} tokens, {} bytes".format
    return Check("tokens", found == told, found=words(*found), expected=words(*told), seconds=clock.lap())


def _layers(manifest: Manifest, clock: Clock) -> Check:
    capture = manifest.capture
    by_rule = tuple(captured_indices(capture.layer_ids, capture.family))
    ok = capture.indices == capture.captured == by_rule and capture.final_norm == "post"
    return Check(
        "indices",
        ok,
        found=f"{list(capture.captured)}, final {capture.final_norm}-norm",
        expected=f"{list(capture.indices)}, final post-norm",
        detail=f"as the loaded {capture.family} model said, for layer ids {list(capture.layer_ids)}",
        seconds=clock.lap(),
    )


def _origin(options: VerifyOptions, manifest: Manifest, clock: Clock) -> list[Check]:
    """That the target given is the one that the states come from."""
    if options.target is None:
        return []
    try:
        found = (identity.weights_revision(options.target), identity.tokenizer_digest(options.target))
        width = int(hf.text_config(hf.load_config(options.target))["hidden_size"])
    except DataError as error:
        return [Check("target", False, found=error.message, expected=manifest.model.name, seconds=clock.lap())]
    ok = found == (manifest.model.revision, manifest.tokenizer_digest) and width == manifest.hidden_size
    return [
        Check("target", ok, found=found[0][:12], expected=manifest.model.revision[:12], detail="weights and tokenizer")
    ]


def _put_aside(folder: Path, rows: Sequence[SampleRow], bad: Sequence[Bad]) -> None:
    files = {row.id: row.file for row in rows}
    aside = folder / "quarantine"
    for item in bad:
        path = folder / files.get(item.id, "-")
        if path.is_file():
            aside.mkdir(exist_ok=True)
            shutil.move(path, aside / path.name)
