"""What a step wants done. Each has a key: carried out at most once (launches) or reconciled by it (posts)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.core.cards import Card


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Start an attempt on its host, not before `not_before` (the undo window)."""

    key: str
    attempt: str
    not_before: datetime


@dataclass(frozen=True, kw_only=True)
class Adopt:
    """Watch a process that runs already as this attempt."""

    key: str
    attempt: str
    process: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Withdraw:
    """Take a pending effect back. Only ever a Launch that has not begun."""

    key: str


@dataclass(frozen=True, kw_only=True)
class Kill:
    """End an attempt's whole tree."""

    key: str
    attempt: str
    grace_s: float


@dataclass(frozen=True, kw_only=True)
class Post:
    """Say something in the run's thread. `broadcast`: in the channel too. `parent`: it opens the thread.

    `channel` and `thread_ts` name another place, for answers outside any run's thread. `sealed`: the audit log's
    head stands in its small print, so that it is kept outside the database.
    """

    key: str
    card: Card
    broadcast: bool = False
    parent: bool = False
    channel: str = ""
    thread_ts: str = ""
    sealed: bool = False


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Replace what was posted under `post`."""

    key: str
    post: str
    card: Card


@dataclass(frozen=True, kw_only=True)
class Whisper:
    """Tell one person alone."""

    key: str
    user: str
    card: Card
    channel: str
    thread_ts: str = ""


@dataclass(frozen=True, kw_only=True)
class React:
    """Set a reaction on a person's message and take `instead_of` away."""

    key: str
    channel: str
    ts: str
    name: str
    instead_of: str = ""


SEEN, WORKING, DONE, REFUSED, ASKED = (
    "eyes",
    "hourglass_flowing_sand",
    "white_check_mark",
    "no_entry_sign",
    "question",
)


@dataclass(frozen=True, kw_only=True)
class Upload:
    """Show a picture that lies on the host."""

    key: str
    host: str
    path: str
    title: str


Effect = Launch | Adopt | Withdraw | Kill | Post | Edit | Whisper | React | Upload
