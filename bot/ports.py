"""What the service needs of the outside: hosts, a chat to post to, a store, a clock."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from bot.core.cards import Card
from bot.core.effects import Effect
from bot.core.model import Run
from bot.core.orders import Order
from bot.core.stored import Posted, StoredEffect
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import AttemptView, HostView, PollAsk


class Host(Protocol):
    """One machine that runs attempts. Every call ends within its own deadline.

    All raise HostUnreachable (no answer in time: nothing is known), HostKeyChanged (nothing was sent) and
    ProtocolError (an answer that cannot be read).
    """

    name: str

    def launch(self, spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        """Start the attempt, or report the one that this token already started. Raises LaunchFailed."""

    def poll(self, asks: Sequence[PollAsk]) -> HostView:
        """One round trip: the host's facts, and each attempt asked for with the new bytes of its log."""

    def kill(self, attempt: str, token: str, grace_s: float) -> AttemptView:
        """TERM, wait `grace_s`, KILL, sweep. The view names survivors, if there are any."""

    def ship(self, archive: bytes, digest: str) -> None:
        """Unpack a tar.gz into `{root}/code/DIGEST`, whole or not at all; nothing to do when it is there."""

    def fetch(self, path: str, max_bytes: int) -> bytes:
        """The first `max_bytes` of a file. Raises FileNotFoundError."""

    def inspect(self, *, path: str = "", pid: int = 0) -> dict[str, Any]:
        """What lies or runs there already. A folder: path, bytes, files. A process: pid, start_ticks, boot_id, user,
        command, started_at, out (the folder it writes to, None when it is not known). Raises LaunchFailed.
        """

    def adopt(self, spec: AttemptSpec, process: Mapping[str, Any]) -> AttemptView:
        """Watch a process that `inspect` found as this attempt. Raises LaunchFailed."""

    def usage(self, paths: Sequence[str], others: Mapping[str, str]) -> list[dict[str, Any]]:
        """Of each folder that is there: path, bytes, files, whole, and why it is kept ("" when it may go).

        `others` are folders that others use, with words that say who. Raises LaunchFailed.
        """

    def remove(self, paths: Sequence[str], others: Mapping[str, str]) -> list[str]:
        """Remove these folders, or none when one of them must stay. Raises LaunchFailed."""

    def close(self) -> None:
        """Let go of connections; attempts live on."""


class Poster(Protocol):
    """The chat. Raises ChatUnavailable when the outcome is not known and the call has to be repeated."""

    def post(
        self, key: str, channel: str, thread_ts: str | None, card: Card, broadcast: bool = False, *, first: bool = False
    ) -> str:
        """Post once per `key` (a repeat finds the earlier message); returns its ts.

        `first`: this key was never tried before, so that nothing has to be looked for.
        """

    def edit(self, channel: str, ts: str, card: Card) -> None:
        """Replace a message."""

    def whisper(self, channel: str, thread_ts: str | None, user: str, card: Card) -> None:
        """A message that only `user` sees."""

    def react(self, channel: str, ts: str, name: str, on: bool = True) -> None:
        """Add or take away a reaction; a repeat is no error."""

    def upload(self, key: str, channel: str, thread_ts: str | None, name: str, body: bytes, title: str) -> str:
        """Show a picture in the thread, once per `key`; returns its message's ts, "" when the chat tells none."""


class Clock(Protocol):
    """The time, as a port, so that tests hold it."""

    def now(self) -> datetime:
        """UTC, with its zone."""

    def monotonic_s(self) -> float:
        """Never set back."""


class RunStore(Protocol):
    """Where runs, orders, effects and posts are kept. Every method is one transaction, and raises StoreUnavailable.

    `conflict` is what `save`, `add_run` and `begin_effect` raise when something else came first, `duplicate` what
    they raise when the order was carried out before.
    """

    conflict: type[Exception]
    duplicate: type[Exception]

    def claim(self, claim: str, at: datetime, body: dict[str, Any]) -> bool:
        """Store a raw event. False when it is known already."""

    def pending_events(self, limit: int = 500) -> list[tuple[int, dict[str, Any]]]:
        """Events not handled yet, oldest first."""

    def is_pending(self, event_id: int) -> bool:
        """Whether an event still has to be handled."""

    def handled(self, event_id: int, at: datetime, outcome: str) -> None:
        """Mark an event that led to no order."""

    def next_run_number(self) -> int:
        """The number of the next run."""

    def add_run(
        self,
        run: Run,
        number: int,
        wanted: Sequence[Effect],
        at: datetime,
        *,
        order: Order | None = None,
    ) -> None:
        """Store a new run with its first effects."""

    def save(
        self,
        run: Run,
        was: int,
        wanted: Sequence[Effect],
        at: datetime,
        *,
        order: Order | None = None,
        begin: int | None = None,
    ) -> None:
        """Run, order and effects together; `begin` is an effect that begins with it."""

    def note_order(
        self, event_id: int, run_id: str, order: Order | None, wanted: Sequence[Effect], at: datetime, outcome: str
    ) -> None:
        """An event is handled: what is answered, and the audit entry if none was written yet."""

    def run(self, run_id: str) -> Run:
        """Raises KeyError."""

    def all_runs(self, live_only: bool = False) -> list[Run]:
        """Runs in the order they were planned."""

    def add_effects(self, run_id: str, wanted: Sequence[Effect], at: datetime) -> None:
        """Effects that come of no step."""

    def due_effects(self, now: datetime) -> list[StoredEffect]:
        """Effects to be carried out now, oldest first."""

    def pending_effects(self) -> list[StoredEffect]:
        """Effects that are not done, due or not, oldest first."""

    def shift_effects(self, by: timedelta) -> None:
        """The clock was set: what waits, waits as long as it was meant to."""

    def cards_of(self, key: str) -> list[Card]:
        """What was said under keys that start with `key`."""

    def begin_effect(self, effect_id: int, at: datetime) -> None:
        """From here on it may have happened. Raises Conflict when it was begun, done or withdrawn."""

    def finish_effect(self, effect_id: int, at: datetime, result: str = "") -> None:
        """It is done, or will never be."""

    def delay_effect(self, effect_id: int, until: datetime, why: str = "") -> None:
        """Try again later. `why` it failed; without, it was not tried."""

    def add_post(self, posted: Posted) -> None:
        """Remember where something was posted."""

    def post(self, key: str) -> Posted | None:
        """Where something was posted."""

    def redrawn(self, key: str, digest: str) -> None:
        """Remember what a post shows now."""

    def thread_posts(self, run_id: str) -> list[Posted]:
        """Everything posted for a run, oldest first."""

    def run_at(self, channel: str, thread_ts: str) -> str | None:
        """The run whose thread this is."""

    def carried(self, claim: str) -> list[str]:
        """The outcomes of the orders that this event led to, in their order."""

    def posted_at(self, channel: str, ts: str) -> Posted | None:
        """What was posted there."""

    def orders(self, run_id: str | None = None) -> list[dict[str, Any]]:
        """The audit log, oldest first."""

    def audit_head(self) -> tuple[int, str]:
        """How many orders there are, and the hash that stands for all of them."""

    def take_lease(self, holder: str, ttl_s: float) -> str:
        """Take or renew the lease that makes one bot active, by the store's own clock; returns who holds it now."""

    def drop_lease(self, holder: str) -> None:
        """Let another bot take over at once."""

    def cursor(self, name: str) -> str | None:
        """A stored position."""

    def set_cursor(self, name: str, value: str) -> None:
        """Store a position."""
