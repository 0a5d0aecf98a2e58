"""Faults that tests switch on: what the network, Slack and a socket do to a bot in a year of uptime."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from bot.workspace.refusal import Json, Refusal

API_KINDS: Final = ("lost_reply", "lost_request", "ratelimited", "http_500", "http_html", "error", "slow")
SOCKET_KINDS: Final = ("duplicate", "lose_ack", "lose_event", "refuse_socket", "no_pong")
FOREVER: Final = -1


@dataclass(kw_only=True)
class Fault:
    kind: str
    method: str = "*"
    times: int = 1  # -1: until cleared
    retry_after_s: int = 1
    error: str = "internal_error"
    delay_s: float = 0.5


@dataclass(kw_only=True)
class Faults:
    active: list[Fault] = field(default_factory=list)
    refused_blocks: frozenset[str] = frozenset()
    enforce_rates: bool = False

    def add(self, fault: Json) -> None:
        """Raises Refusal invalid_arguments for a kind or a key that does not exist."""
        if fault.get("kind") not in (*API_KINDS, *SOCKET_KINDS):
            raise Refusal("invalid_arguments", [f"unknown fault: {fault.get('kind')}"])
        try:
            self.active.append(Fault(**fault))
        except TypeError as error:
            raise Refusal("invalid_arguments", [str(error)]) from error

    def clear(self) -> None:
        self.active.clear()
        self.refused_blocks = frozenset()

    def take(self, kinds: str | Iterable[str], method: str = "*") -> Fault | None:
        """The next fault of these kinds that applies to the method, one of its times used up."""
        wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        for fault in self.active:
            if fault.kind in wanted and fault.method in ("*", method):
                if fault.times != FOREVER:
                    fault.times -= 1
                    if fault.times <= 0:
                        self.active.remove(fault)
                return fault
        return None
