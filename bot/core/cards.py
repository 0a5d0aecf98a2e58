"""What is shown to people, as data: adapters draw it as Slack blocks or as terminal text.

Text in a card is Slack mrkdwn. Whatever comes from a host or a person passes `escape` first.
"""

from dataclasses import dataclass, field
from typing import Literal

StageMark = Literal["pending", "in_progress", "complete", "error"]
Style = Literal["", "primary", "danger"]


@dataclass(frozen=True, kw_only=True)
class Text:
    """A paragraph of mrkdwn, at most about 2,900 characters (drawn as several sections when longer)."""

    kind: Literal["text"] = "text"
    text: str


@dataclass(frozen=True, kw_only=True)
class Small:
    """A line of context in small type."""

    kind: Literal["small"] = "small"
    text: str


@dataclass(frozen=True, kw_only=True)
class StageLine:
    """One stage in the stage list: `detail` is one plain line (progress bar, rate, result)."""

    id: str
    title: str
    mark: StageMark
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The stage list: Slack's `plan` block, plain sections where that is refused."""

    kind: Literal["stages"] = "stages"
    title: str
    lines: tuple[StageLine, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table: every row as long as `header`."""

    kind: Literal["table"] = "table"
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Button:
    """A button. Its value holds run, gate and state version, so that an old click is known as old."""

    action: str  # advance | hold | cancel | retry | status | bench | waive | arm | confirm | …
    label: str
    value: str  # compact JSON, see `bot.core.clicks`
    style: Style = ""
    confirm: str = ""  # a question that the chat asks before the click counts


@dataclass(frozen=True, kw_only=True)
class Buttons:
    """A row of buttons."""

    kind: Literal["buttons"] = "buttons"
    buttons: tuple[Button, ...]


@dataclass(frozen=True, kw_only=True)
class Divider:
    """A line across."""

    kind: Literal["divider"] = "divider"


Part = Text | Small | Stages | Table | Buttons | Divider


@dataclass(frozen=True, kw_only=True)
class Card:
    """One message. `fallback` is what notifications and screen readers show: plain, short, complete."""

    fallback: str
    parts: tuple[Part, ...] = ()
    title: str = ""  # a header line, at most 150 characters
    mentions: tuple[str, ...] = field(default=())  # user ids that are told


def escape(text: str) -> str:
    """Foreign text made harmless: no mentions, links, channels or mark-up of Slack's come out of it."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("```", "'''").replace("`", "ˋ")


def say(text: str, *more: Part, mentions: tuple[str, ...] = ()) -> Card:
    """A card of one paragraph and what follows it."""
    return Card(fallback=text, parts=(Text(text=text), *more), mentions=mentions)
