"""In which order the two servers answer, so that a machine that slows down or speeds up favours neither."""

from collections.abc import Sequence
from dataclasses import dataclass

from runner.bench.records import BASELINE, DRAFTED


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One server answers all prompts once, at one concurrency."""

    side: str
    round: int
    concurrency: int


def plan_passes(rounds: int, concurrency: Sequence[int], together: bool) -> list[Pass]:
    """All passes in order. The side that goes first changes from round to round (A B, B A, …).

    `together`: both servers are up, so the sides alternate at every concurrency. Otherwise a side does all
    concurrencies of its turn, and two turns of one side on end share a start. The last turn is the baseline's, so
    that it is still up when divergences are looked into.
    """
    passes = []
    for number in range(rounds):
        baseline_last = (rounds - 1 - number) % 2 == 0
        sides = (DRAFTED, BASELINE) if baseline_last else (BASELINE, DRAFTED)
        if together:
            pairs = [(side, value) for value in concurrency for side in sides]
        else:
            pairs = [(side, value) for side in sides for value in concurrency]
        passes += [Pass(side=side, round=number, concurrency=value) for side, value in pairs]
    return passes
