"""Are the answers the baseline's own? Token by token, and what a first difference means."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runner.bench.records import BASELINE, DRAFTED, Record


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """The first difference between an answer and the reference. Token None: that answer had ended.

    `logprobs`: of the reference's token, of the other's, and of the best token, by the target after the common part
    (nats); None until it was asked.
    """

    prompt: str
    side: str
    concurrency: int
    position: int
    expected: int | None
    found: int | None
    logprobs: tuple[float, float, float] | None = None
    answers: int = 1  # how many answers differ in just this way

    def gap_nats(self) -> float | None:
        """How far the worse of the two tokens is below the target's best."""
        if self.logprobs is None:
            return None
        expected, found, best = self.logprobs
        return best - min(expected, found)

    def to_json(self, near_tie_nats: float) -> dict[str, Any]:
        gap = self.gap_nats()
        return {**asdict(self), "gap_nats": gap, "near_tie": None if gap is None else gap <= near_tie_nats}


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How many of `total` are equal to the reference to the last token."""

    identical: int
    total: int


def reference_answers(records: Iterable[Record]) -> dict[str, list[int]]:
    """Each prompt's answer by the baseline, in its first round at its lowest concurrency."""
    best: dict[str, Record] = {}
    for record in records:
        if record.side != BASELINE:
            continue
        known = best.get(record.prompt)
        if known is None or (record.concurrency, record.round) < (known.concurrency, known.round):
            best[record.prompt] = record
    return {prompt: record.output_ids for prompt, record in best.items()}


def first_difference(expected: Sequence[int], found: Sequence[int]) -> int | None:
    """The first position where they differ, None when they are equal."""
    for position, (one, other) in enumerate(zip(expected, found, strict=False)):
        if one != other:
            return position
    return None if len(expected) == len(found) else min(len(expected), len(found))


def count_identical_prompts(records: Sequence[Record]) -> Agreement:
    """Prompts that the drafted server answered like the reference every time."""
    reference = reference_answers(records)
    drafted = {record.prompt for record in records if record.side == DRAFTED}
    wrong = {r.prompt for r in records if r.side == DRAFTED and r.output_ids != reference.get(r.prompt)}
    return Agreement(identical=len(drafted - wrong), total=len(drafted))


def count_identical_answers(records: Sequence[Record], side: str, concurrency: int) -> Agreement:
    """Answers of one side. The baseline's own tells how far the target repeats itself when batches differ."""
    reference = reference_answers(records)
    chosen = [record for record in records if record.side == side and record.concurrency == concurrency]
    identical = sum(record.output_ids == reference.get(record.prompt) for record in chosen)
    return Agreement(identical=identical, total=len(chosen))


def find_divergences(records: Sequence[Record]) -> list[Divergence]:
    """One for each different first difference of a drafted answer, in the order of the records."""
    reference = reference_answers(records)
    seen: dict[tuple[str, int, int | None], list[Record]] = {}
    for record in records:
        expected = reference.get(record.prompt, [])
        position = first_difference(expected, record.output_ids)
        if record.side == DRAFTED and position is not None:
            seen.setdefault((record.prompt, position, token_at(record.output_ids, position)), []).append(record)
    return [
        Divergence(
            prompt=prompt,
            side=DRAFTED,
            concurrency=same[0].concurrency,
            position=position,
            expected=token_at(reference.get(prompt, []), position),
            found=found,
            answers=len(same),
        )
        for (prompt, position, found), same in seen.items()
    ]


def token_at(tokens: Sequence[int], position: int) -> int | None:
    return tokens[position] if position < len(tokens) else None
