"""What can happen to a run. Times are the clock's, UTC."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.core.pipeline import Value
from runner.protocol.view import AttemptView


@dataclass(frozen=True, kw_only=True)
class Event:
    """`at`: when; every event has it, so that a step needs no clock."""

    at: datetime


@dataclass(frozen=True, kw_only=True)
class Ordered(Event):
    """An order of somebody who may give it. `undo_s`: how long it can be taken back."""

    by: str
    undo_s: float = 0.0
    said: tuple[str, str] | None = None  # channel and ts of the message it came by, for reactions


@dataclass(frozen=True, kw_only=True)
class Advance(Ordered):
    """Pass the open gate, or be ready to as soon as the running check proves the stage."""

    set: dict[str, Value]


@dataclass(frozen=True, kw_only=True)
class Arm(Ordered):
    """Pass the next gate by itself once the stage before it is proven, and `when` is reached."""

    when: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Hold(Ordered):
    """Start nothing; take back what has not started yet."""


@dataclass(frozen=True, kw_only=True)
class Override(Ordered):
    """Change settings of the stages still to come."""

    set: dict[str, Value]


@dataclass(frozen=True, kw_only=True)
class Retry(Ordered):
    """Launch the failed stage again; what it left is used."""

    set: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Bench(Ordered):
    """Run the benchmark stage (again)."""

    set: dict[str, Value]


@dataclass(frozen=True, kw_only=True)
class Extend(Ordered):
    """Make `add` more samples; what exists is kept."""

    add: int


@dataclass(frozen=True, kw_only=True)
class Watch(Ordered):
    """Tell this person of the run's next turn."""


@dataclass(frozen=True, kw_only=True)
class Waive(Ordered):
    """Accept contradicted evidence, for a reason that is kept."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Adopt(Ordered):
    """Take what is there already as a stage's work: a finished folder, or a process that still makes one."""

    stage: str
    host: str
    out: str
    about: str  # what it is, in words
    process: dict[str, Any] | None = None  # {pid, start_ticks, boot_id, …} as its host names it; None: a folder


@dataclass(frozen=True, kw_only=True)
class Cleaned(Ordered):
    """What the run had made was deleted."""

    bytes: int
    hosts: tuple[str, ...]
    left: tuple[str, ...] = ()  # what stayed, each with its reason


@dataclass(frozen=True, kw_only=True)
class AskCancel(Ordered):
    """A cancel that has to be confirmed."""


@dataclass(frozen=True, kw_only=True)
class Cancel(Ordered):
    """A confirmed cancel."""


@dataclass(frozen=True, kw_only=True)
class Decline(Ordered):
    """No to a question of ours."""


@dataclass(frozen=True, kw_only=True)
class LaunchBegan(Event):
    """The undo window is over; from here on the attempt may exist."""

    attempt: str


@dataclass(frozen=True, kw_only=True)
class LaunchRefused(Event):
    """The host would not start it; nothing ran."""

    attempt: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Seen(Event):
    """The host told of an attempt."""

    view: AttemptView
    undo_s: float = 0.0  # the undo window, should this answer complete an accepted order
    gpu_percent: Mapping[int, float] = field(default_factory=dict)  # how busy the host's GPUs are, by index
    root: str = ""  # the host's folder of all attempts and data


@dataclass(frozen=True, kw_only=True)
class Remind(Event):
    """The run has waited for a person long enough to say so again."""


@dataclass(frozen=True, kw_only=True)
class Unreachable(Event):
    """The host of this attempt gives no answer."""

    attempt: str
    why: str
