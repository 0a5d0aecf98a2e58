"""Wishes and opinions about an order, in the first person or of somebody else: they hold or ask, and start nothing."""

from __future__ import annotations

from bot.core.reading.acts import GO_TAGS
from bot.core.reading.clauses import Clause
from bot.core.reading.rules.moment import Answer, Moment, ask, hold
from bot.core.reading.rules.stay import LEADING
from bot.core.reading.rules.times import timing
from bot.core.reading.tags import Tag

_GOING_ON = frozenset({"continuing", "proceeding", "starting", "launching", "beginning", "going", "advancing",
                       "resuming", "approving"})  # fmt: skip
_OPPOSED = frozenset({"against", "opposed", "oppose"})
_FIRST_PERSON = frozenset({"i", "we", "i'd", "we'd", "i must", "i'd like", "i would", "we would", "i'm", "we're"})
_WISHING = frozenset(
    {"ask", "asking", "request", "prefer", "like", "want", "beg", "suggest", "recommend", "advise", "propose", "urge",
     "insist", "appreciate", "rather", "love", "vote", "favor", "favour", "support", "second",
     "would like", "want to", "would", "need"}
)  # fmt: skip
_BETTER = frozenset({"better", "best", "safer", "wiser", "wise", "smarter", "prudent", "advisable", "preferable"})
_WOULD = frozenset({"would", "would like", "want", "want to", "like to", "must", "have to"})
_WAITED = frozenset({"waited", "held", "holding", "waiting", "paused", "pausing", "postponed", "delayed"})
_US = frozenset({"i", "we", "you", "us", "me", "everyone", "everybody"})
_FAVOUR = frozenset({"favor", "favour"})
_LEANING = _WISHING | {"for", "suggests", "recommends", "favors", "favours", "supports", "votes"}
_AGREED = (Tag.FILLER, Tag.GOOD, Tag.GLUE, Tag.FILL, Tag.AUX, Tag.SUBJECT, Tag.ONLY)


def asked_to_wait(moment: Moment) -> Answer:
    """ "i would kindly ask you to wait", "we'd prefer to hold off", "i would appreciate it if you waited"."""
    clauses = moment.message.clauses
    if moment.go or any(clause.asked for clause in clauses):
        return None
    return hold(moment) if any(_asks_to_wait(clause) or _is_against(clause) for clause in clauses) else None


def _asks_to_wait(clause: Clause) -> bool:
    at = next((i for i, item in enumerate(clause.items) if item.has(Tag.HOLD) or item.text in _WAITED), None)
    if at is None or clause.has(Tag.NOT):
        return False
    before = [item for item in clause.items[:at] if not item.has(*LEADING)]
    wishes = any(item.text in _WISHING or (item.has(Tag.HEDGE) and item.text in _WOULD) for item in before[1:])
    others = any(item.has(Tag.SUBJECT) and item.text not in _US for item in before)
    better = any(item.text in _BETTER for item in before) and not any(
        item.has(Tag.UNKNOWN) for item in before if item.text not in _BETTER
    )
    return not others and bool(before) and (better or (before[0].text in _FIRST_PERSON and wishes))


def _is_against(clause: Clause) -> bool:
    """ "i'm against continuing", "i am not in favour of starting"."""
    said = [item for item in clause.items if not item.has(*LEADING)]
    at = next((i for i, item in enumerate(said) if item.text in _GOING_ON or item.has(*GO_TAGS)), None)
    if at is None or said[0].text not in _FIRST_PERSON:
        return False
    opposed = any(item.text in _OPPOSED for item in said[:at])
    return opposed or any(item.has(Tag.NOT) and any(i.text in _WISHING for i in said[:at]) for item in said[:at])


def in_favour(moment: Moment) -> Answer:
    """ "i would be in favour of continuing", "tom suggests starting": an opinion on the order, not the order."""
    message = moment.message
    if moment.go or message.asked or message.has(Tag.NOT, Tag.NO) or message.named(Tag.MY):
        return None
    for clause in message.clauses:
        items = clause.items
        at = next((i for i, item in enumerate(items) if item.text in _GOING_ON | _FAVOUR), len(items))
        before, after = items[:at], items[at + 1 :]
        first = next((item for item in before if not item.has(Tag.POLITE, Tag.ADDRESS, Tag.FILLER)), None)
        thanks = any(item.has(Tag.POLITE, Tag.MISTAKE) for item in before)  # "thanks for continuing"
        leans = not thanks and any(i.has(Tag.HEDGE, Tag.REPORT) or i.text in _LEANING for i in items[: at + 1])
        strange = sum(item.has(Tag.UNKNOWN) and item.text not in _LEANING for item in before)
        if at == len(items) or first is None or not leans or strange > 1 or any(i.has(Tag.UNKNOWN) for i in after):
            continue
        own = not strange and first.text in _FIRST_PERSON
        return ask("hedge" if own else "reported", moment, "ADVANCE")
    return None


def approval_with_a_condition(moment: Moment) -> Answer:
    """ "fine if it's fine for anna", "ok once the others agree": agreed to, as soon as something is so."""
    message = moment.message
    if moment.go or message.asked or not moment.context.card_is_last:
        return None
    said = [item for item in message.words if not item.has(Tag.POLITE, Tag.ADDRESS)]
    at = next((i for i, item in enumerate(said) if item.has(Tag.CONDITION)), 0)
    lead = said[:at]
    agreed = any(item.has(Tag.FILLER, Tag.GOOD) for item in lead) and all(item.has(*_AGREED) for item in lead)
    return ask("conditional", moment, "ADVANCE", **timing(moment, "conditional")) if agreed else None
