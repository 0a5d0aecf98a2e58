"""Evidence for a benchmark: every figure computed again from the answers, and the answers held against themselves.

The summary is not believed: what a card shows must follow from `requests.jsonl`. Needs no torch, except in full.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from runner.bench import files
from runner.bench.alarms import USELESS
from runner.bench.answers import Divergence, count_identical_prompts, find_divergences
from runner.bench.draft import file_digest
from runner.bench.measurement import measure_acceptance, select
from runner.bench.records import BASELINE, DRAFTED, Record, read_records
from runner.bench.report import Circumstances, summarise
from runner.bench.schedule import plan_passes
from runner.identity import config_digest, weights_revision
from runner.protocol.errors import ProtocolError, StageError
from runner.protocol.evidence import Check
from runner.protocol.files import read_json
from runner.verify.bench_times import check_times


def check_bench(subject: Path, target: Path | None, draft: Path | None, full: bool) -> list[Check]:
    """Look at a data folder of bench. Given `target` or `draft` must be what was measured.

    `full` lets transformers predict the baseline's answers too.
    """
    try:
        result = read_json(str(subject / files.RESULT))
        records = read_records(subject / files.RECORDS)
        starts = [json.loads(line) for line in (subject / files.STARTS).read_text(encoding="utf-8").splitlines()]
        facts = Circumstances(
            **{f.name: _tuple(result["settings"][f.name]) for f in fields(Circumstances) if f.name != "extra"}
        )
    except (OSError, ProtocolError, StageError, ValueError, KeyError, TypeError) as error:
        return [Check("result", False, found=str(error), expected=f"{files.RESULT} and what it is made from")]
    checks = [
        _answered(result, records, facts),
        *_servers(starts, result),
        _models(result, target or Path(result["target"]), draft or Path(result["draft"])),
        _counts(records, facts),
        check_times(records),
        _recomputed(result, records, facts),
        _acceptance(records, facts),
        _outputs(result, records, facts),
    ]
    if full and all(check.ok is not False for check in checks):
        from runner.verify import bench_replay

        checks += bench_replay.check(subject, Path(result["target"]), facts.dtype, records)
    return checks


def pictures(subject: Path) -> list[str]:
    return [str(subject / files.PICTURE)] if (subject / files.PICTURE).is_file() else []


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _answered(result: Mapping[str, Any], records: Sequence[Record], facts: Circumstances) -> Check:
    """Every prompt, by both sides, in every round, at every concurrency, once."""
    prompts = {record.prompt for record in records}
    wanted = {
        (turn.side, turn.round, turn.concurrency, prompt)
        for turn in plan_passes(facts.rounds, facts.concurrency, together=True)
        for prompt in prompts
    }
    found = [(record.side, record.round, record.concurrency, record.prompt) for record in records]
    missing = sorted(wanted - set(found))
    ok = not missing and len(found) == len(wanted) and len(prompts) == result.get("prompts") and bool(prompts)
    return Check(
        "answered",
        ok,
        found=f"{len(found)} answers to {len(prompts)} prompts",
        expected=f"{len(wanted)} answers to {result.get('prompts')} prompts",
        detail=f"missing: {missing[:3]}" if missing else "",
    )


def _servers(starts: Sequence[Mapping[str, Any]], result: Mapping[str, Any]) -> Iterator[Check]:
    """Both served one model in one way; only the drafted one had a drafter, and it is the one that was named."""
    same = {
        tuple(
            str(start["facts"].get(name))
            for name in ("model_path", "revision", "version", "device", "dtype", "tp_size")
        )
        for start in starts
    }
    algorithms = {
        side: sorted({str(start["facts"].get("speculative_algorithm")) for start in starts if start["side"] == side})
        for side in (BASELINE, DRAFTED)
    }
    drafters = {start["facts"].get("speculative_draft_model_path") for start in starts if start["side"] == DRAFTED}
    yield Check(
        "servers",
        len(same) == 1,
        found=f"{len(starts)} starts, {len(same)} kind{'s' if len(same) != 1 else ''} of server",
        expected="one model, one version, one dtype",
        detail="; ".join(sorted(" ".join(kind) for kind in same)),
    )
    yield Check(
        "drafter_used",
        algorithms == {BASELINE: ["None"], DRAFTED: ["EAGLE3"]}
        and {Path(str(path)) for path in drafters} == {Path(result["draft"]).absolute()},
        found=f"{algorithms[DRAFTED]} with {sorted(map(str, drafters))}, baseline {algorithms[BASELINE]}",
        expected=f"EAGLE3 with {result['draft']}, baseline without",
        detail="as the servers said of themselves",
    )


def _models(result: Mapping[str, Any], target: Path, draft: Path) -> Check:
    """These folders hold what was measured."""
    try:
        now = {
            "target_config_digest": config_digest(target),
            "target_revision": weights_revision(target),
            "draft_config_digest": config_digest(draft),
            "draft_digest": file_digest(draft / "model.safetensors"),
        }
    except (OSError, StageError) as error:
        return Check("models", None, found=str(error), expected="the folders that were measured")
    other = [name for name, digest in now.items() if result.get(name) != digest]
    return Check(
        "models",
        not other,
        found=f"drafter {now['draft_digest'][:12]}, target {now['target_revision'][:12]}",
        expected=f"drafter {str(result.get('draft_digest'))[:12]}, target {str(result.get('target_revision'))[:12]}",
        detail=", ".join(other),
    )


def _counts(records: Sequence[Record], facts: Circumstances) -> Check:
    """Tokens and verify steps account for each other.

    The prefill gives one token, every step one and its accepted drafts; the last step may overshoot the end.
    """
    bad = []
    for record in records:
        histogram = record.accepted_histogram or []
        made = 1 + record.verify_steps + record.accepted_drafts
        overshoot = made - record.completion_tokens
        if record.side == BASELINE:
            fits = record.verify_steps == 0 and not histogram
        else:
            fits = (
                0 <= overshoot < facts.draft_tokens
                and sum(histogram) == record.verify_steps
                and sum(n * steps for n, steps in enumerate(histogram)) == record.accepted_drafts
            )
        if not fits or record.completion_tokens != len(record.output_ids):
            bad.append(f"{record.prompt} ({record.side}): {record.completion_tokens} tokens, {made} made")
    return Check(
        "tokens",
        not bad,
        found=f"{len(records) - len(bad)} of {len(records)} answers",
        expected="tokens = 1 + verify steps + accepted drafts, less what overshot the end",
        detail="; ".join(bad[:3]),
    )


def _recomputed(result: Mapping[str, Any], records: Sequence[Record], facts: Circumstances) -> Check:
    """`result.json` says what the answers say."""
    divergences = [_read_divergence(value) for value in result.get("divergences", [])]
    again = json.loads(json.dumps(summarise(records, divergences, facts)))
    wrong = sorted(name for name, value in again.items() if result.get(name) != value)
    if {_place(one) for one in find_divergences(records)} != {_place(one) for one in divergences}:
        wrong.append("divergences")
    return Check(
        "recomputed",
        not wrong,
        found=f"{len(again) - len(wrong)} of {len(again)} figures equal",
        expected="all, computed again from the answers",
        detail=", ".join(wrong),
    )


def _read_divergence(value: Mapping[str, Any]) -> Divergence:
    return Divergence(**{field.name: _tuple(value[field.name]) for field in fields(Divergence)})


def _place(divergence: Divergence) -> tuple[str, int, int | None, int | None]:
    return divergence.prompt, divergence.position, divergence.expected, divergence.found


def _acceptance(records: Sequence[Record], facts: Circumstances) -> Check:
    acceptance = measure_acceptance(select(records, DRAFTED), facts.steps)
    if acceptance is None:
        return Check("acceptance", False, found="no verify step", expected=f"above {USELESS}")
    return Check(
        "acceptance",
        min(acceptance.length, acceptance.per_step) > USELESS,
        found=round(min(acceptance.length, acceptance.per_step), 3),
        expected=f"above {USELESS}",
        detail=f"length {acceptance.length:.3f}, {acceptance.per_step:.3f} a step, by position "
        + ", ".join(f"{rate:.2f}" for rate in acceptance.by_position),
    )


def _outputs(result: Mapping[str, Any], records: Sequence[Record], facts: Circumstances) -> Check:
    """The drafted answers are the baseline's. Where batches change kernels, a near tie of the target excuses."""
    agreement = count_identical_prompts(records)
    looked_into = {_place(one): one.gap_nats() for one in map(_read_divergence, result.get("divergences", []))}
    gaps = [looked_into.get(_place(one)) for one in find_divergences(records)]
    faults = sum(gap is not None and gap > facts.near_tie_nats for gap in gaps)
    unknown = sum(gap is None for gap in gaps)
    ok: bool | None = not gaps
    if gaps and not facts.equality_demanded:
        ok = False if faults else None if unknown else True
    widest = max((gap for gap in gaps if gap is not None), default=0.0)
    counts = f"{len(gaps)} divergences: {faults} beyond a near tie, {unknown} not looked into, widest {widest:.3f} nats"
    excused = f"equal, or parting at a tie within {facts.near_tie_nats} nats"
    return Check(
        "outputs",
        ok,
        found=f"{agreement.identical} of {agreement.total} prompts token by token equal",
        expected="all equal" if facts.equality_demanded else excused,
        detail=counts if gaps else "",
    )
