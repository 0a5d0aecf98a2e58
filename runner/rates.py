"""Rates and remaining time of a stage: from what was done lately, with the spread that it showed."""

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, pstdev

WINDOW_S = 15.0
WINDOWS = 20  # with the last five minutes one sees a change, and not every hiccup
UNSURE = 0.5  # the spread while there are too few windows to tell it
NARROWEST, WIDEST = 0.02, 0.9


@dataclass
class Pace:
    """How fast a count grows: looked at as often as one likes, kept in windows of at least `WINDOW_S`."""

    clock: Callable[[], float] = time.monotonic
    _marks: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=WINDOWS + 1), repr=False)
    _first: tuple[float, float] | None = field(default=None, repr=False)
    _last: tuple[float, float] = field(default=(0.0, 0.0), repr=False)

    def note(self, done: float, at_s: float | None = None) -> None:
        """`done` so far. The first note is where counting begins."""
        self._last = (self.clock() if at_s is None else at_s, done)
        if self._first is None:
            self._first = self._last
        if not self._marks or self._last[0] - self._marks[-1][0] >= WINDOW_S:
            self._marks.append(self._last)

    @property
    def rate(self) -> float:
        """A second, over the windows kept; over everything where they show no progress; 0 before there is any."""
        begins: list[tuple[float, float]] = [*list(self._marks)[:1], *([self._first] if self._first else [])]
        for at_s, done in begins:
            if self._last[1] > done:
                return (self._last[1] - done) / max(self._last[0] - at_s, 1e-3)
        return 0.0

    @property
    def spread(self) -> float:
        """The rate's uncertainty as a share of it: twice the standard error over the windows."""
        rates = [(done - before) / (at - since) for (since, before), (at, done) in pairwise(self._marks)]
        if len(rates) < 3 or fmean(rates) <= 0:
            return UNSURE
        return min(WIDEST, max(NARROWEST, 2 * pstdev(rates) / fmean(rates) / math.sqrt(len(rates))))

    def eta_s(self, left: float) -> dict[str, float] | None:
        """Low, likely and high for what is left; they hold the pace since the beginning, too. None: not known yet."""
        if self.rate <= 0 or self._first is None:
            return None
        whole = (self._last[1] - self._first[1]) / max(self._last[0] - self._first[0], 1e-3)
        fast, slow = self.rate * (1 + self.spread), self.rate * (1 - self.spread)
        return {
            "low": round(left / max(fast, whole), 1),
            "likely": round(left / self.rate, 1),
            "high": round(left / min(slow, whole), 1),
        }


@dataclass
class Meter:
    """Counts what this process did since `start`, always in samples, tokens and bytes together."""

    clock: Callable[[], float] = time.monotonic
    started_s: float = -1.0
    samples: int = 0
    tokens: int = 0
    bytes: int = 0
    _shares: Pace = field(init=False, repr=False)
    _paces: dict[str, Pace] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Count from now on; what came before was getting ready."""
        self.started_s = self.clock()
        self._shares = Pace(self.clock)
        self._paces = {name: Pace(self.clock) for name in ("samples_s", "tokens_s", "bytes_s")}
        self._note()

    def _note(self) -> None:
        for pace, count in zip(self._paces.values(), (self.samples, self.tokens, self.bytes), strict=True):
            pace.note(count)

    @property
    def elapsed_s(self) -> float:
        return self.clock() - self.started_s

    def add(self, tokens: int, size: int = 0) -> None:
        self.samples += 1
        self.tokens += tokens
        self.bytes += size
        self._note()

    def rates(self) -> dict[str, float]:
        """Since the start: what a stage reports as its result."""
        elapsed = max(self.elapsed_s, 1e-3)
        given = {"samples_s": self.samples, "tokens_s": self.tokens, "bytes_s": self.bytes}
        return {name: round(count / elapsed, 2) for name, count in given.items()}

    def rates_now(self) -> dict[str, float]:
        """Over the last minutes: what a running stage tells."""
        self._note()
        return {name: round(pace.rate, 2) for name, pace in self._paces.items()}

    def eta_s(self, share_left: float, share_done: float) -> dict[str, float] | None:
        """Low, likely and high, for shares of the same whole: tokens, or samples where lengths are not known."""
        if self.samples == 0 or share_done <= 0:
            return None
        if self._shares.rate == 0:
            self._shares.note(0.0, self.started_s)
        self._shares.note(share_done)
        return self._shares.eta_s(share_left)
