"""Small things that the checks share."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from runner.protocol.evidence import Bad, Check


@dataclass
class Clock:
    """Seconds since the last check."""

    last_s: float = field(default_factory=time.monotonic)

    def lap(self) -> float:
        now_s = time.monotonic()
        lap_s, self.last_s = now_s - self.last_s, now_s
        return round(lap_s, 3)


def every(name: str, total: int, bad: Sequence[Bad], clock: Clock, detail: str = "") -> Check:
    """A check that must hold for each of `total` samples."""
    words = "; ".join(f"{item.id}: {item.why}" for item in bad[:3])
    return Check(
        name,
        not bad,
        found=f"{total - len({item.id for item in bad})} of {total}",
        expected=f"{total} of {total}",
        detail=words or detail,
        seconds=clock.lap(),
    )
