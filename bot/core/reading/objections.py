"""What speaks against carrying an order out: each with its code of `why`, the plainest first."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable

from bot.core.reading.accounts import AGAIN, accounts
from bot.core.reading.acts import END_TAGS, GO_TAGS
from bot.core.reading.clauses import MEDDLING, PUTTING, REASONS, Clause
from bot.core.reading.coverage import AFTER, ASSENTS, understood
from bot.core.reading.items import Item
from bot.core.reading.message import Message, silent
from bot.core.reading.tags import Tag

_COUNTED = (Tag.NOUN, Tag.CHECK, Tag.NUMBER, Tag.AUX, Tag.REVIEW, Tag.GOOD)
_RUNS = frozenset({"run", "job", "jobs", "stage", "one"})
_REFUSING = (Tag.KEEP, Tag.NOT, Tag.RUN, Tag.AND, Tag.POLITE, Tag.MARK, Tag.STAGE, Tag.GLUE, Tag.NOW, Tag.FILL)
_FACEPALM = frozenset({"🤦", "facepalm", "face_palm"})
_LOOKING = frozenset({"checking", "looking"})


def objections(message: Message) -> tuple[str, ...]:
    """Everything in the whole message that keeps an order from being carried out; codes of `why`."""
    return tuple(dict.fromkeys(code for code, present in _objections(message.whole, message) if present))


def _objections(message: Message, part: Message) -> Iterable[tuple[str, bool]]:
    cleaned = message.cleaned
    yield "too_long", cleaned.truncated
    yield "disguised", cleaned.disguised
    yield "struck_out", cleaned.struck
    yield "question", message.asked or message.has(Tag.WH, Tag.MODAL)
    yield "reported", _half_quoted(message) or _told(message)
    yield "reported", message.has(Tag.REPORT)
    yield "mixed_polarity", any(_negates(clause) for clause in message.clauses if not _of_others(clause, part))
    yield "timed", message.has(Tag.TIME, Tag.LATER) or _clock(message)
    yield "conditional", message.has(Tag.CONDITION, Tag.BEFORE) or _milestone(message) or message.bounded
    yield "hedge", message.has(Tag.HEDGE) or _doubts(message)
    yield "joke", message.has(Tag.JOKE)
    yield "hype", any(item.has(Tag.HYPE) and item.value != "emoji" for item in message.items)
    yield "idiom", message.has(Tag.WITHOUT) or _figures(message)
    yield "unclear_reference", _has_beside(message, Tag.SAME, Tag.WHICH)
    yield "unclear", message.named(Tag.PERSON)
    yield "unclear", bool(message.find(*GO_TAGS)) and any(_partial(clause, message) for clause in message.clauses)
    yield "mixed_polarity", _against_emoji(message)
    yield "complaint", message.has(Tag.BAD, Tag.NAN) and bool(message.find(*GO_TAGS))
    yield "chained", _other_orders(message, part)
    yield "bulk", _many(message) and bool(message.find(*GO_TAGS)) and not message.runs
    yield "unclear", _contradicts_itself(message, part)
    yield "precondition", (message.has(Tag.BUT) and not _but_sets(message)) or _still_at_it(message)
    yield "unclear", not all(_clear(clause, message) or _of_others(clause, part) for clause in message.clauses)


def _clear(clause: Clause, message: Message) -> bool:
    if (
        clause.items and clause.items[0].text in (*REASONS, "as") and not clause.acts
    ):  # "because of me" is known, but no reason
        return accounts(clause, message.acts) or (
            understood(clause) and (bool(clause.claims) or clause.has(Tag.GOOD, Tag.DONE))
        )
    return understood(clause) or accounts(clause, message.acts)


def _has_beside(message: Message, *tags: Tag) -> bool:
    """Whether such a word stands anywhere but in what only tells why ("oom was from the other job")."""
    return any(clause.has(*tags) and not accounts(clause, message.acts) for clause in message.clauses)


def _negates(clause: Clause) -> bool:
    return any(item.has(Tag.NOT) for item in clause.items) or clause.has(Tag.NO)


def _of_others(clause: Clause, part: Message) -> bool:
    """ "start r14, not r12", "don't start r12; start r14": a negation that plainly binds to another run."""
    if clause in part.clauses or not clause.addressed():
        return False
    ordered = {act.at for act in clause.acts if act.negated or act.tag is Tag.HOLD}
    puts = PUTTING if ordered else ()  # "keep r14 on hold"; other than "leave r14"
    said = [item for at, item in enumerate(clause.items) if at not in ordered and item.text not in puts]
    return bool(ordered or not clause.acts) and all(item.has(*_REFUSING) or item.text in MEDDLING for item in said)


def _figures(message: Message) -> bool:
    """A figure of speech; other than one that agrees with a plain order: "by all means continue"."""
    plain = bool(message.find(Tag.PROCEED, Tag.BEGIN, Tag.DO_STAGE))
    return any(item.has(Tag.IDIOM) and not (plain and item.text in ASSENTS) for item in message.items)


def _doubts(message: Message) -> bool:
    """A mocking emoji; other than a hand to the face beside a mistake that is to be ended."""
    doubts = [item for item in message.items if item.has(Tag.DOUBT)]
    owned = message.has(Tag.BAD, Tag.MISTAKE) and message.find(*END_TAGS) and not message.find(*GO_TAGS)
    return bool(doubts) and not (owned and all(item.text in _FACEPALM for item in doubts))


def _other_orders(message: Message, part: Message) -> bool:
    """An order beside one of another kind: "generate 5k more, continue", "keep going, kill it"."""
    keeps = any(clause.has(Tag.KEEP) for clause in message.clauses if not _of_others(clause, part))
    others = bool(message.find(Tag.SKIP, Tag.EXTEND, Tag.UNDO)) or keeps
    return others and bool(message.find(*GO_TAGS, *END_TAGS))


def _many(message: Message) -> bool:
    """ "both", "all", "everything"; other than "all checks green", "everything looks good"."""
    assessed = [clause for clause in message.clauses if clause.has(Tag.GOOD, Tag.DONE) and not clause.acts]
    items = [item for clause in message.clauses if clause not in assessed for item in clause.items]
    for item, after in itertools.zip_longest(items, items[1:]):
        counts = after is not None and after.has(*_COUNTED) and after.text not in _RUNS
        if item.has(Tag.BULK, Tag.BOTH) and not counts:
            return True
    return False


def _contradicts_itself(message: Message, part: Message) -> bool:
    """Two values for one parameter of one run, or a number left over beside a value."""
    said = [part.settings, *(clause.settings for clause in message.clauses)]
    twice = any(len({setting.name for setting in each}) < len(each) for each in said)
    return twice or (bool(message.settings) and message.has(Tag.NUMBER))


def _told(message: Message) -> bool:
    """ "anna: continue"."""
    return any(clause.speaker for clause in message.clauses)


def _partial(clause: Clause, message: Message) -> bool:
    """ "most checks green", "only the headers look good": a verdict on less than all, unless it tells what was read."""
    repeats = {act.tag for act in message.acts} <= AGAIN and accounts(
        clause, message.acts
    )  # "retry, i freed some space"
    if clause.tells_what_was_read or repeats:
        return False
    one = any(first.text == "one" and second.has(Tag.NOUN) for first, second in _pairs(clause.items))
    counted = clause.has(Tag.NUMBER) or (clause.has(Tag.NOUN) and not clause.has(Tag.BAD))
    limited = clause.has(Tag.ONLY) and counted and not clause.acts
    return one or limited or any(item.has(Tag.PART) for item in clause.items)


def _half_quoted(message: Message) -> bool:
    saying = [clause for clause in message.clauses if any(not silent(item) for item in clause.items)]
    return len({clause.spoken for clause in saying}) > 1


def _clock(message: Message) -> bool:
    return any(
        first.has(Tag.AT, Tag.IN) and second.has(Tag.NUMBER)
        for clause in message.clauses
        for first, second in _pairs(list(clause.rest()))
    )


def _milestone(message: Message) -> bool:
    return any(first.has(Tag.AT) and second.has(Tag.DONE) for c in message.clauses for first, second in _pairs(c.items))


def _pairs(items: Collection[Item]) -> Iterable[tuple[Item, Item]]:
    return itertools.pairwise(items)


def _still_at_it(message: Message) -> bool:
    """ "checking, continue": who looks has not seen yet; other than "looking fine"."""
    return any(
        first.text in _LOOKING and not (second is not None and second.has(Tag.GOOD, Tag.PRAISE))
        for first, second in itertools.zip_longest(message.items, message.items[1:])
    )


def _against_emoji(message: Message) -> bool:
    return any(item.has(Tag.HOLD) and item.value == "emoji" for item in message.items) and bool(message.find(*GO_TAGS))


def _but_sets(message: Message) -> bool:
    """ "continue but with lr 2e-4": what follows the "but" is nothing but values, or before it stand only thanks."""
    for clause in message.clauses:
        at = next((i for i, item in enumerate(clause.items) if item.has(Tag.BUT)), None)
        if at is None or (at and all(item.has(Tag.POLITE) for item in clause.items[:at])):  # "thanks, but go on"
            continue
        tail = [item for i, item in enumerate(clause.items) if i > at and i not in clause.used]
        if not clause.settings or not all(item.has(*AFTER) for item in tail):
            return False
    return True
