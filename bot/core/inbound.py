"""What reached the bot from the chat, as data that is stored before anything is done with it."""

import json
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Literal, Self

# An app_mention is a "message": Slack sends both for one post, and whichever comes first is kept.
Kind = Literal["message", "edit", "deletion", "click", "reaction", "home"]


@dataclass(frozen=True, kw_only=True)
class InboundEvent:
    """One thing that a person did. Text is Slack's own, mark-up and escapes included.

    `ts` is the message it is about: itself, the edited or deleted one, the card that was clicked, the one
    reacted to. `event_ts` is when it happened. `thread_ts` is None for messages that are in no thread.
    """

    kind: Kind
    team: str
    channel: str
    channel_type: str  # channel | group | im | mpim, "" when not told
    user: str
    ts: str
    event_ts: str
    thread_ts: str | None = None
    bot_id: str = ""  # set when another bot speaks
    text: str = ""  # of a deletion: what was deleted, if Slack says
    previous_text: str = ""  # of an edit, if Slack says
    reaction: str = ""
    added: bool = True  # of a reaction: False when it was taken away
    action: str = ""
    value: str = ""
    response_url: str = ""
    history: bool = False  # read later than sent, by catching up
    raw: str = "{}"

    def __post_init__(self) -> None:
        """Whoever made it: what no database takes would stay pending for ever, and hold up the orders after it."""
        for item in fields(self):
            told = getattr(self, item.name)
            if isinstance(told, str) and (kept := storable(told)) != told:
                object.__setattr__(self, item.name, kept)

    @property
    def claim_key(self) -> str:
        """The same for every delivery of one deed, whatever event and envelope ids it comes under."""
        key: tuple[str, ...] = (self.team, self.channel, self.ts, self.kind)
        match self.kind:
            case "edit":
                key = (*key, self.event_ts)
            case "click" | "home":
                key = (*key, self.action, self.event_ts, self.user)
            case "reaction":
                key = (*key, self.reaction, "added" if self.added else "removed", self.event_ts, self.user)
        return "/".join(key)

    @property
    def at(self) -> datetime:
        """When it happened, UTC, by Slack's clock."""
        return datetime.fromtimestamp(float(self.event_ts), UTC)

    @property
    def thread(self) -> str:
        """The ts of the thread this belongs to, or would open."""
        return self.thread_ts or self.ts

    def as_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, stored: str) -> Self:
        return cls(**json.loads(stored))

    def as_history(self) -> Self:
        return replace(self, history=True)


def storable(text: str) -> str:
    """As it was said, but for half surrogates and NULs, which databases refuse."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\x00", "\ufffd")
