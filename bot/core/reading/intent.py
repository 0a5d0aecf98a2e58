"""What a message was read as: one frozen `Intent` an order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Value = Any  # a JSON value: str, int, float, bool, or a list of them


class Kind(StrEnum):
    """The intents. ACTIONS below change what runs; the others never do."""

    ADVANCE = "ADVANCE"
    HOLD = "HOLD"
    STATUS = "STATUS"
    CANCEL = "CANCEL"
    RETRY = "RETRY"
    BENCH = "BENCH"
    OVERRIDE = "OVERRIDE"
    START = "START"
    ADOPT = "ADOPT"
    CLEANUP = "CLEANUP"
    ASK = "ASK"
    IGNORE = "IGNORE"


ACTIONS = frozenset({Kind.ADVANCE, Kind.CANCEL, Kind.RETRY, Kind.BENCH, Kind.OVERRIDE, Kind.ADOPT, Kind.CLEANUP})


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something the operator said is so ("extraction done"): checked against the host, never believed."""

    stage: str | None
    status: str


@dataclass(frozen=True, kw_only=True)
class Intent:
    """One order, question or remark.

    rule: the name of the rule that decided, kept in the audit log.
    run: a run id; several for HOLD on more than one; None for a list or when no run was meant.
    stage: the stage acted upon (CANCEL, RETRY, OVERRIDE). from_stage, to: the gate (ADVANCE).
    set: values by parameter name, typed and within bounds unless why is out_of_range.
    claim: what was said to be so, to be checked before anything starts.
    when: the condition of an armed rule, as {"samples": 9000} or {"stage": ..., "status": "done"}.
    why: a code of why.REASONS, for ASK and IGNORE. proposed: what an ASK offers to do on one tap
    (a kind, "CANCEL+RETRY" or "EXTEND"). more: further arguments by name: view, lines, metric, with,
    mode, suite, candidates, named, thread, param, after_s, age_h, skips, then, waives, loses, ...
    carried: what the proposed order would take with it, "set" and "suite"; for its button, no argument of the reading.
    """

    kind: Kind
    rule: str
    run: str | tuple[str, ...] | None = None
    stage: str | None = None
    from_stage: str | None = None
    to: str | None = None
    set: Mapping[str, Value] = field(default_factory=dict)
    claim: Claim | None = None
    when: Mapping[str, Value] | None = None
    why: str | None = None
    proposed: str | None = None
    more: Mapping[str, Value] = field(default_factory=dict)
    carried: Mapping[str, Value] = field(default_factory=dict)

    @property
    def acts(self) -> bool:
        """Whether carrying this out would change what runs."""
        return self.kind in ACTIONS

    def arguments(self) -> dict[str, Value]:
        """The arguments as the labelled corpus writes them (not claim, rule, nor the end of a stage as `when`)."""
        run = list(self.run) if isinstance(self.run, tuple) else self.run
        named: dict[str, Value] = {
            "run": run,
            "stage": self.stage,
            "from": self.from_stage,
            "to": self.to,
            "set": dict(self.set) or None,
            "when": dict(self.when) if self.when and "status" not in self.when else None,
            "proposed": self.proposed,
            ("reason" if self.kind is Kind.IGNORE else "why"): self.why,
        }
        arguments = {name: value for name, value in named.items() if value is not None}
        if self.kind is Kind.STATUS:
            arguments.setdefault("run", None)
        if self.kind is Kind.ADVANCE:
            arguments.setdefault("from", None)
        return arguments | dict(self.more)

    def as_json(self) -> dict[str, Value]:
        """A JSON object with every field, and `arguments` beside them."""
        run = list(self.run) if isinstance(self.run, tuple) else self.run
        return {
            "kind": self.kind.value,
            "run": run,
            "stage": self.stage,
            "from": self.from_stage,
            "to": self.to,
            "set": dict(self.set),
            "claim": {"stage": self.claim.stage, "status": self.claim.status} if self.claim else None,
            "when": dict(self.when) if self.when else None,
            "proposed": self.proposed,
            "why": self.why,
            "rule": self.rule,
            "arguments": self.arguments(),
        }
