"""What is kept of every order: the entry of the audit log."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Order:
    """`claim` is the key of the event it came by and its number in it, so that no order is carried out twice.

    `evidence` is the digest of what was shown when it was given.
    """

    run: str | None
    claim: str
    ts: str
    who: str
    at: datetime
    text: str
    intents: tuple[dict[str, Any], ...]
    outcome: str
    evidence: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "run": self.run,
            "claim": self.claim,
            "ts": self.ts,
            "who": self.who,
            "at": self.at.isoformat(),
            "text": self.text,
            "intents": list(self.intents),
            "outcome": self.outcome,
            "evidence": self.evidence,
        }
