"""What becomes of one event: orders carried out, answers, a reaction, an entry in the audit log."""

import hashlib
from dataclasses import dataclass, field

from bot.core.cards import Card
from bot.core.effects import SEEN, Effect, Post, React, Whisper
from bot.core.inbound import InboundEvent
from bot.core.model import Run
from bot.core.orders import Order
from bot.core.reading.intent import Intent, Kind

TERMINAL = "terminal"  # the team of orders from `python -m bot say`


@dataclass
class Outcome:
    """`text` is the audit's word for it; `whispers` are for the speaker alone; `carried` counts orders carried out."""

    event: InboundEvent
    intents: tuple[Intent, ...] = ()
    text: str = ""
    mark: str = ""
    seen: bool = False
    shown: str = ""  # the mark that was stored with an order
    cards: list[Card] = field(default_factory=list)
    whispers: list[Card] = field(default_factory=list)
    carried: int = 0
    settled: bool = False  # the audit log has it already

    @property
    def chatter(self) -> bool:
        """Nothing in it was for the bot: it is not recorded."""
        said = bool(self.cards or self.whispers or self.mark)
        return not said and self.event.kind != "deletion" and all(i.kind is Kind.IGNORE for i in self.intents)

    def entry(self, run: Run | None, outcome: str) -> Order:
        """The audit log's entry for the next order of this event."""
        event = self.event
        made = (run.stage(run.at).evidence or {}) if run else {}
        return Order(
            run=run.id if run else None,
            claim=f"{event.claim_key}#{self.carried}",
            ts=event.ts,
            who=event.user,
            at=event.at,
            text=event.text or event.reaction,
            intents=tuple(i.as_json() for i in self.intents),
            outcome=outcome,
            evidence=str(made.get("digest", "")),
        )

    def effects(self, in_thread: bool) -> tuple[Effect, ...]:
        """Answers in the run's thread, else under the message; whispers; the reaction."""
        event, key = self.event, answer_key(self.event)
        terminal = event.team == TERMINAL
        where = "" if in_thread else event.channel
        under = "" if in_thread or terminal else event.thread
        found: list[Effect] = [
            Post(key=f"{key}{i}", card=card, channel=where, thread_ts=under) for i, card in enumerate(self.cards)
        ]
        channel = "" if terminal else event.channel
        found += [
            Whisper(key=f"{key}w{i}", user=event.user, card=card, channel=channel, thread_ts=event.thread_ts or "")
            for i, card in enumerate(self.whispers)
        ]
        return (*found, *self.reaction())

    def reaction(self) -> tuple[Effect, ...]:
        """The mark on the message, where there is one that does not stand there yet."""
        event = self.event
        if self.mark in ("", self.shown) or event.kind not in ("message", "edit") or event.team == TERMINAL:
            return ()
        before = self.shown or (SEEN if self.seen else "")
        key = f"{answer_key(event)}mark{2 if self.shown else ''}"
        return (React(key=key, channel=event.channel, ts=event.ts, name=self.mark, instead_of=before),)


def seen_mark(event: InboundEvent) -> React:
    """The reaction that says: read, being looked into."""
    return React(key=f"{answer_key(event)}seen", channel=event.channel, ts=event.ts, name=SEEN)


def answer_key(event: InboundEvent) -> str:
    """What the keys of an event's answers start with."""
    return f"answer/{hashlib.sha256(event.claim_key.encode()).hexdigest()[:24]}/"
