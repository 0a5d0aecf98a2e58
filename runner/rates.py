"""Rates and remaining time of a stage, always in samples, tokens and bytes together."""

import time
from dataclasses import dataclass, field


@dataclass
class Meter:
    """Counts what this process did since `start`; the remaining time follows from the rate so far."""

    started_s: float = field(default_factory=time.monotonic)
    samples: int = 0
    tokens: int = 0
    bytes: int = 0

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started_s

    def add(self, tokens: int, size: int = 0) -> None:
        self.samples += 1
        self.tokens += tokens
        self.bytes += size

    def rates(self) -> dict[str, float]:
        elapsed = max(self.elapsed_s, 1e-3)
        given = {"samples_s": self.samples, "tokens_s": self.tokens, "bytes_s": self.bytes}
        return {name: round(count / elapsed, 2) for name, count in given.items()}

    def eta_s(self, share_left: float, share_done: float) -> dict[str, float] | None:
        """Low, likely and high, for shares of the same whole: tokens, or samples where lengths are not known."""
        if self.samples == 0 or share_done <= 0:
            return None
        likely = self.elapsed_s * share_left / share_done
        spread = 1 / self.samples**0.5  # few samples so far say little
        return {
            "low": round(likely / (1 + spread), 1),
            "likely": round(likely, 1),
            "high": round(likely * (1 + spread), 1),
        }
