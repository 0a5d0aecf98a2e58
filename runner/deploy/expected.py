"""What the benchmark lets us expect in service, and whether the drafter should be there at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.bench import files
from runner.bench.draft import file_digest
from runner.bench.measurement import measure_acceptance, select
from runner.bench.prompts import Prompt, read_sent
from runner.bench.records import DRAFTED, Record, read_records
from runner.deploy.release import WEIGHTS
from runner.protocol.errors import DataError, ProtocolError
from runner.protocol.files import read_json


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Acceptance (1 + accepted drafts / verify steps) on `prompts`, as benchmarked with these settings."""

    prompts: Sequence[Prompt]
    max_new_tokens: int
    algorithm: str
    steps: int
    topk: int
    acceptance: float
    draft_digest: str


def expect(bench: Path, draft: Path, num_prompts: int, min_speedup: float) -> Expected:
    """Read the benchmark. Raises DataError when it is of another drafter, or says that this one slows serving down."""
    result, records, sent = _read(bench)
    settings = result["settings"]
    digest = file_digest(draft / WEIGHTS)
    if result.get("draft_digest") != digest:
        raise DataError(
            f"{bench} measured the drafter {str(result.get('draft_digest'))[:16]}, {draft} holds {digest[:16]}",
            "benchmark the drafter that is to be deployed",
        )
    speedup = float(result.get("speedup") or 0.0)
    if speedup < min_speedup:
        raise DataError(
            f"the benchmark says {speedup:.2f}x: with this drafter serving is not {min_speedup:g} times as fast",
            f"it would pay from an acceptance length of {float(result.get('breakeven') or 0):.2f} on",
        )
    chosen = list(sent)[:num_prompts]
    concurrency = min(settings["concurrency"])
    answers = [r for r in select(records, DRAFTED, concurrency=concurrency) if r.prompt in set(chosen)]
    measured = measure_acceptance(answers, settings["steps"])
    if measured is None:
        raise DataError(f"{bench} drafted nothing on its first {len(chosen)} prompts", "nothing can be expected of it")
    return Expected(
        prompts=[Prompt(id=name, input_ids=sent[name]) for name in chosen],
        max_new_tokens=int(settings["max_new_tokens"]),
        algorithm=str(settings["algorithm"]),
        steps=int(settings["steps"]),
        topk=int(settings["topk"]),
        acceptance=measured.per_step,
        draft_digest=digest,
    )


def acceptance_of(records: Sequence[Record], steps: int) -> float:
    """1 + accepted drafts / verify steps; 1.0 when nothing was verified."""
    measured = measure_acceptance(records, steps)
    return measured.per_step if measured else 1.0


def _read(bench: Path) -> tuple[dict[str, Any], list[Record], dict[str, list[int]]]:
    try:
        result = read_json(str(bench / files.RESULT))
        for name in ("steps", "topk", "algorithm", "concurrency", "max_new_tokens"):
            result["settings"][name]
    except (OSError, ProtocolError, KeyError, TypeError) as error:
        raise DataError(f"{bench}: no finished benchmark ({error!r})", "run the benchmark first") from error
    return result, read_records(bench / files.RECORDS), read_sent(bench / files.PROMPTS)
