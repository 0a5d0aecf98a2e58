"""`result.json`: what the records come to, in numbers and in words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from runner.bench.alarms import explain_alarm
from runner.bench.answers import Divergence, count_identical_answers, count_identical_prompts
from runner.bench.economics import Balance
from runner.bench.measurement import Comparison, compare_speed, measure_acceptance, select
from runner.bench.records import DRAFTED, SIDES, Record


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """What the figures depend on, beside the records."""

    steps: int
    topk: int
    draft_tokens: int
    max_new_tokens: int
    rounds: int
    concurrency: tuple[int, ...]
    algorithm: str
    architectures: tuple[str, ...]
    capture_checked: bool
    device: str
    dtype: str
    near_tie_nats: float
    extra: dict[str, Any] = field(default_factory=dict)  # paths, digests, versions: copied into the result

    @property
    def equality_demanded(self) -> bool:
        """On the CPU in fp32 nothing excuses another token; elsewhere kernels change with the shape of the batch."""
        return self.device == "cpu" and self.dtype == "float32"


def summarise(records: Sequence[Record], divergences: Sequence[Divergence], facts: Circumstances) -> dict[str, Any]:
    """The body of `result.json`. A pure function of its arguments: verification computes it again."""
    speeds = [found for value in facts.concurrency if (found := compare_speed(records, value, facts.steps)) is not None]
    acceptance = measure_acceptance(select(records, DRAFTED), facts.steps)
    agreement = count_identical_prompts(records)
    body: dict[str, Any] = {
        "prompts": agreement.total,
        "requests": len(records),
        "acceptance": asdict(acceptance) if acceptance else None,
        "by_concurrency": [_one_concurrency(speed, records, facts.steps) for speed in speeds],
        "identical": agreement.identical,
        "total": agreement.total,
        "equality_demanded": facts.equality_demanded,
        "divergences": [divergence.to_json(facts.near_tie_nats) for divergence in divergences],
        "alarm": explain_alarm(acceptance, facts.algorithm, facts.architectures, facts.capture_checked),
        "settings": _settings(facts),
        **facts.extra,
    }
    if speeds:  # the figures of a card: the lowest concurrency, single-stream where that was asked for
        body |= _headline(speeds[0], body)
    return body


def _headline(first: Comparison, body: dict[str, Any]) -> dict[str, Any]:
    acceptance = body["acceptance"]
    return {
        "baseline": {"tok_s": first.baseline_tok_s.median},
        "drafted": {
            "tok_s": first.drafted_tok_s.median,
            "acceptance_length": acceptance["length"],
            "per_position": acceptance["by_position"],
        },
        "speedup": first.speedup.median,
        "cost_ratio": first.cost_ratio.median,
        "breakeven": first.cost_ratio.median,
        "in_words": body["by_concurrency"][0]["in_words"],
    }


def _one_concurrency(speed: Comparison, records: Sequence[Record], steps: int) -> dict[str, Any]:
    balance = Balance(acceptance=speed.acceptance_length, cost_ratio=speed.cost_ratio.median, steps=steps)
    answers = {side: asdict(count_identical_answers(records, side, speed.concurrency)) for side in SIDES}
    return {
        **speed.to_json(),
        "answers_like_reference": answers,
        "target_factor": balance.target_factor,
        "position_rate": balance.position_rate,
        "in_words": balance.describe() + _describe_doubt(speed),
    }


def _describe_doubt(speed: Comparison) -> str:
    if speed.speedup.min < 1 < speed.speedup.max:
        return f" Not settled: rounds ranged from {speed.speedup.min:.2f}x to {speed.speedup.max:.2f}x."
    return ""


def _settings(facts: Circumstances) -> dict[str, Any]:
    return {key: value for key, value in asdict(facts).items() if key != "extra"}
