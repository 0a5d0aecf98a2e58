"""Answers that are not worth training on, and why."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

_NGRAM = 4
_LEAST_FRESH = 0.4  # of an answer's 4-grams that are not repetitions
_LEAST_LENGTH = 24
_LONGEST_PERIOD = 48


def is_loop(ids: Sequence[int]) -> bool:
    """Whether an answer repeats itself: its end has a period seen three times, or most of its 4-grams came before."""
    if len(ids) < _LEAST_LENGTH:
        return False
    for period in range(1, min(_LONGEST_PERIOD, len(ids) // 3) + 1):
        end = ids[-3 * period :]
        if len(end) >= _LEAST_LENGTH // 2 and all(end[i] == end[i % period] for i in range(len(end))):
            return True
    grams = [tuple(ids[i : i + _NGRAM]) for i in range(len(ids) - _NGRAM + 1)]
    return len(set(grams)) < _LEAST_FRESH * len(grams)


@dataclass
class Judge:
    """Says why an answer is dropped; None keeps it. Remembers what it kept, to know duplicates."""

    max_length: int
    _seen: set[bytes] = field(default_factory=set)

    def fault(self, input_ids: Sequence[int], answers: Sequence[Sequence[int]]) -> str | None:
        """One of empty, long, loop, duplicate."""
        if any(len(answer) < 2 for answer in answers):
            return "empty"
        if len(input_ids) > self.max_length:
            return "long"
        if any(is_loop(answer) for answer in answers):
            return "loop"
        return "duplicate" if _key(answers) in self._seen else None

    def keep(self, answers: Sequence[Sequence[int]]) -> None:
        self._seen.add(_key(answers))


def _key(answers: Sequence[Sequence[int]]) -> bytes:
    return hashlib.sha256(repr([list(answer) for answer in answers]).encode()).digest()
