"""Speed and acceptance, computed from the records alone."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runner.bench.records import BASELINE, DRAFTED, Record


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Over rounds."""

    median: float
    min: float
    max: float

    @staticmethod
    def over(values: Sequence[float]) -> "Spread":
        return Spread(median=statistics.median(values), min=min(values), max=max(values))


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """What the target made of the drafts.

    length: completion tokens / verify steps, SGLang's own measure. It counts the token of the prefill, which no
    step made: short answers flatter it by 1 / answer length.
    per_step: 1 + accepted drafts / verify steps, free of that.
    by_position: [k] = the share of the drafts at depth k + 1 that were accepted, of those whose forerunners were.
    """

    length: float
    per_step: float
    by_position: list[float]
    verify_steps: int
    accepted_drafts: int


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Both sides at one concurrency. The speed-up is taken within a round, then summarised over rounds."""

    concurrency: int
    baseline_tok_s: Spread
    drafted_tok_s: Spread
    speedup: Spread
    acceptance_length: float
    cost_ratio: Spread  # time of a verify step with its drafts / time of a token alone = acceptance length / speed-up

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def select(
    records: Iterable[Record], side: str, round: int | None = None, concurrency: int | None = None
) -> list[Record]:
    return [
        record
        for record in records
        if record.side == side
        and (round is None or record.round == round)
        and (concurrency is None or record.concurrency == concurrency)
    ]


def measure_tok_s(records: Sequence[Record]) -> float:
    """Completion tokens a second, from the first request sent to the last answer read, prefill included."""
    wall_s = max(record.ended_s for record in records) - min(record.started_s for record in records)
    return sum(record.completion_tokens for record in records) / wall_s


def measure_acceptance(records: Sequence[Record], depth: int) -> Acceptance | None:
    """Over all `records` together, not a mean of means. `depth`: draft steps. None when nothing was verified."""
    steps = sum(record.verify_steps for record in records)
    if steps == 0:
        return None
    accepted = sum(record.accepted_drafts for record in records)
    tokens = sum(record.completion_tokens for record in records)
    return Acceptance(
        length=tokens / steps,
        per_step=1 + accepted / steps,
        by_position=_by_position([record.accepted_histogram or [] for record in records], depth),
        verify_steps=steps,
        accepted_drafts=accepted,
    )


def _by_position(histograms: Iterable[Sequence[int]], depth: int) -> list[float]:
    """[k]: steps that accepted more than k drafts, of those that accepted at least k; ends where no step came."""
    total = [0] * (depth + 1)
    for histogram in histograms:
        for accepted, steps in enumerate(histogram):
            total[min(accepted, depth)] += steps
    at_least = [sum(total[accepted:]) for accepted in range(depth + 1)]
    return [at_least[k + 1] / at_least[k] for k in range(depth) if at_least[k]]


def compare_speed(records: Sequence[Record], concurrency: int, depth: int) -> Comparison | None:
    """None when a side has no pass at this concurrency, or nothing was verified."""
    baseline, drafted, speedups = [], [], []
    for number in sorted({record.round for record in records}):
        plain = select(records, BASELINE, number, concurrency)
        fast = select(records, DRAFTED, number, concurrency)
        if plain and fast:
            baseline.append(measure_tok_s(plain))
            drafted.append(measure_tok_s(fast))
            speedups.append(drafted[-1] / baseline[-1])
    acceptance = measure_acceptance(select(records, DRAFTED, concurrency=concurrency), depth)
    if not speedups or acceptance is None:
        return None
    speedup = Spread.over(speedups)
    return Comparison(
        concurrency=concurrency,
        baseline_tok_s=Spread.over(baseline),
        drafted_tok_s=Spread.over(drafted),
        speedup=speedup,
        acceptance_length=acceptance.length,
        cost_ratio=Spread(
            median=acceptance.length / speedup.median,
            min=acceptance.length / speedup.max,
            max=acceptance.length / speedup.min,
        ),
    )
