"""Do the times of a benchmark's requests fit how it says it was run?"""

import itertools
from collections.abc import Iterable, Sequence

from runner.bench.records import Record
from runner.protocol.evidence import Check


def check_times(records: Sequence[Record]) -> Check:
    """As many requests in flight as each pass says, and never two passes at once: one side at work slows the other."""
    passes: dict[tuple[str, int, int], list[Record]] = {}
    for record in records:
        passes.setdefault((record.side, record.round, record.concurrency), []).append(record)
    wrong = []
    for (side, number, concurrency), answers in passes.items():
        most, wanted = count_in_flight(answers), min(concurrency, len(answers))
        if most > wanted or (most == 1 and wanted > 1):  # very short answers may not reach all of it
            wrong.append(f"{side} round {number + 1}: {most} in flight instead of {wanted}")
    spans = sorted((min(r.started_s for r in answers), max(r.ended_s for r in answers)) for answers in passes.values())
    if any(later[0] < earlier[1] for earlier, later in itertools.pairwise(spans)):
        wrong.append("two passes overlap")
    if any(record.latency_s <= 0 for record in records):
        wrong.append("an answer took no time")
    busy_s = sum(end - start for start, end in spans)
    return Check(
        "times",
        not wrong,
        found=f"{len(passes)} passes in {busy_s:.1f} s",
        expected="one pass at a time, each with its requests in flight",
        detail="; ".join(wrong[:3]),
    )


def count_in_flight(records: Iterable[Record]) -> int:
    """The most requests that were open at one moment."""
    edges = sorted([(r.started_s, 1) for r in records] + [(r.ended_s, -1) for r in records])
    most = now = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most
