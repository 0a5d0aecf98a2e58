"""Does drafting pay here, and what would make it pay? From measured acceptance and measured cost."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Balance:
    """speed-up = acceptance / cost ratio. The cost ratio (time of a verify step with its drafts, in plain steps) is
    also the break-even acceptance.

    position_rate: the acceptance at every draft position that would reach break-even; None when even 1.0 would not.
    target_factor: how many times slower a plain step of the target must be to break even at this acceptance, if what
    drafting adds to a step keeps its time; None where no target would do (nothing is accepted).
    """

    acceptance: float
    cost_ratio: float
    steps: int

    @property
    def speedup(self) -> float:
        return self.acceptance / self.cost_ratio

    @property
    def breakeven(self) -> float:
        return self.cost_ratio

    @property
    def position_rate(self) -> float | None:
        return _rate_for(self.cost_ratio, self.steps)

    @property
    def target_factor(self) -> float | None:
        if self.acceptance <= 1:
            return None
        return max(1.0, (self.cost_ratio - 1) / (self.acceptance - 1))

    def describe(self) -> str:
        """In words."""
        measured = (
            f"One verify step with {self.steps} draft step{'s' if self.steps > 1 else ''} costs {self.cost_ratio:.2f} "
            f"plain steps and yields {self.acceptance:.2f} tokens: {self.speedup:.2f}x."
        )
        if self.speedup >= 1:
            return f"{measured} Drafting pays; it would stop paying below an acceptance length of {self.breakeven:.2f}."
        return f"{measured} Drafting slows this server; it pays from {self._what_would_pay()}."

    def _what_would_pay(self) -> str:
        rate = self.position_rate
        if rate is None:
            ways = f"no acceptance length that {self.steps} draft steps can reach (at most {self.steps + 1})"
        else:
            ways = f"an acceptance length of {self.breakeven:.2f} on ({rate:.0%} at each draft position)"
        if self.target_factor is None:
            return ways
        slower = f"a target whose plain step takes {self.target_factor:.1f} times as long"
        return f"{ways}, or, at this acceptance, with {slower}"


def _rate_for(length: float, steps: int) -> float | None:
    """The p with 1 + p + … + p^steps = length, by bisection."""
    if length > steps + 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if sum(middle**power for power in range(steps + 1)) < length:
            low = middle
        else:
            high = middle
    return high
