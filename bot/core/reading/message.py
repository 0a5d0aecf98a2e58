"""A message understood by itself, before any run is looked at: its clauses and what speaks against acting."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from bot.core.reading.accounts import accounts
from bot.core.reading.binding import bind
from bot.core.reading.clauses import END_TAGS, GO_TAGS, PUTTING, REASONS, Act, Clause, split_clauses
from bot.core.reading.coverage import AFTER, understood
from bot.core.reading.intent import Claim
from bot.core.reading.items import Item, classify_tokens
from bot.core.reading.names import Names
from bot.core.reading.normalise import Cleaned
from bot.core.reading.questions import asks
from bot.core.reading.settings import Setting
from bot.core.reading.tags import Tag
from bot.core.reading.tokens import MAX_TOKENS, tokenise
from bot.core.reading.views import VIEWS

_COUNTED = (Tag.NOUN, Tag.CHECK, Tag.NUMBER, Tag.AUX, Tag.REVIEW, Tag.GOOD)
_RUNS = frozenset({"run", "job", "jobs", "stage", "one"})
_REFUSING = (Tag.NOT, Tag.RUN, Tag.AND, Tag.POLITE, Tag.MARK, Tag.STAGE, Tag.GLUE, Tag.NOW, Tag.FILL)
_FACEPALM = frozenset({"🤦", "facepalm", "face_palm"})
_LOOKING = frozenset({"checking", "looking"})
_FRIENDLY = (Tag.LOOK, Tag.ACK, Tag.HYPE)
_COMPARES = ("<", ">", "=", "==", "=>")


@dataclass(frozen=True)
class Message:
    """What was said. `cleaned` tells what was removed; `outer` is the whole message a part was taken from."""

    clauses: tuple[Clause, ...]
    cleaned: Cleaned
    outer: Message | None = None
    bounded: bool = False  # "> 5pm", ">= 9000 samples": a comparison that no figure stands before

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """All items, in order."""
        return tuple(item for clause in self.clauses for item in clause.items)

    @cached_property
    def words(self) -> tuple[Item, ...]:
        """The items that say something: no marks, emoji or mention of the bot."""
        return tuple(item for item in self.items if not _silent(item))

    @cached_property
    def emoji(self) -> tuple[Item, ...]:
        """The emoji, in order."""
        return tuple(item for item in self.items if item.value == "emoji")

    @cached_property
    def acts(self) -> tuple[Act, ...]:
        """All orders, in order."""
        return tuple(act for clause in self.clauses for act in clause.acts)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """All claims."""
        return tuple(claim for clause in self.clauses for claim in clause.claims)

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """All values asked for."""
        return tuple(setting for clause in self.clauses for setting in clause.settings)

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """Every run id that is named."""
        return tuple(dict.fromkeys(run for clause in self.clauses for run in clause.runs()))

    @cached_property
    def addressed(self) -> tuple[str, ...]:
        """The runs it is said to; every one that is named, where all stand behind a condition."""
        if len(self.runs) < 2:
            return self.runs
        return tuple(dict.fromkeys(run for clause in self.clauses for run in clause.addressed())) or self.runs

    @cached_property
    def asked(self) -> bool:
        """Whether a question mark stands anywhere, or a clause has the form of a question."""
        return any(clause.asked or asks(clause) for clause in self.clauses)

    def has(self, *tags: Tag) -> bool:
        """Whether any word outside settings and claims belongs to one of these classes."""
        return not self._rest_tags.isdisjoint(tags)

    @cached_property
    def _rest_tags(self) -> frozenset[Tag]:
        return frozenset(tag for clause in self.clauses for item in clause.rest() for tag in item.tags)

    @cached_property
    def _tags(self) -> frozenset[Tag]:
        return frozenset(tag for item in self.items for tag in item.tags)

    def named(self, *tags: Tag) -> bool:
        """Whether any word at all belongs to one of these classes."""
        return not self._tags.isdisjoint(tags)

    def only(self, *tags: Tag) -> bool:
        """Whether there are words and all of them belong to these classes (ornaments apart)."""
        return bool(self.words) and all(item.has(*tags) for item in self.words)

    def find(self, *tags: Tag, negated: bool = False) -> list[Act]:
        """The acts of these classes, plain or negated."""
        return [act for act in self.acts if act.tag in tags and act.negated is negated]

    def part(self, clauses: Iterable[Clause]) -> Message:
        """The same message reduced to some of its clauses."""
        return Message(tuple(clauses), self.cleaned, self.outer or self)

    @property
    def whole(self) -> Message:
        """The message that this is a part of."""
        return self.outer or self

    @cached_property
    def objections(self) -> tuple[str, ...]:
        """Everything in the whole message that keeps an order from being carried out; codes of `why`."""
        return tuple(dict.fromkeys(code for code, present in _objections(self.whole, self) if present))


def parse(cleaned: Cleaned, names: Names) -> Message:
    """Understand a cleaned message with the names of the moment."""
    tokens = tokenise(cleaned.text, names.whole)
    if len(tokens) >= MAX_TOKENS:
        cleaned = Cleaned(**{**cleaned.__dict__, "truncated": True})
    items = _bare_view(_without_ornament(bind(classify_tokens(tokens, names))))
    return Message(tuple(split_clauses(items)), cleaned, bounded=_bounded(items))


def _bare_view(items: list[Item]) -> list[Item]:
    """ "gpu", "show gpus": a parameter's name that is a view as well is one where it stands alone."""
    said = [item for item in items if not _silent(item) and not item.has(Tag.POLITE, Tag.ARTICLE, Tag.SHOW)]
    view = next((name for name in VIEWS if len(said) == 1 and said[0].text in (name, f"{name}s")), None)
    if view is None or not said[0].has(Tag.PARAM):
        return items
    return [Item(frozenset({Tag.VIEW}), item.text, view) if item is said[0] else item for item in items]


def _bounded(items: list[Item]) -> bool:
    """Whether "<", ">" or "=" and a number follow what is no figure or value, so that they bound the order instead."""
    before: Item | None = None
    signs: list[str] = []
    for item in items:
        if item.is_mark(*_COMPARES):
            signs.append(item.text)
        elif signs and item.has(Tag.NUMBER) and not _takes_comparison(before, signs):
            return True
        elif not (signs and item.has(Tag.MARK)) or item.is_mark("\n"):
            signs = []
            of_metric = before is not None and before.has(Tag.METRIC) and item.has(Tag.AUX, Tag.AT, Tag.GLUE, Tag.FILL)
            before = before if of_metric else item
    return False


def _takes_comparison(item: Item | None, signs: list[str]) -> bool:
    """ "loss < 2" and "9000 = 9000" are figures, "lr = 2e-4" is a value."""
    if item is None:
        return False
    equals = set(signs) <= {"=", "=="}
    return item.has(Tag.METRIC) or (equals and item.has(Tag.NUMBER, Tag.PARAM, Tag.UNKNOWN, Tag.NOUN, Tag.SUITE))


def _without_ornament(items: list[Item]) -> list[Item]:
    """Beside words, the bot's own mention and a friendly emoji say nothing; alone, an emoji is all there is."""
    if all(_silent(item) for item in items):
        return items
    return [item for item in items if not (item.has(Tag.BOT) or (item.value == "emoji" and item.has(*_FRIENDLY)))]


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
    yield "idiom", message.has(Tag.IDIOM, Tag.WITHOUT)
    yield "unclear_reference", _has_beside(message, Tag.SAME, Tag.WHICH)
    yield "unclear", message.named(Tag.PERSON)
    yield "unclear", any(_partial(clause) for clause in message.clauses) and bool(message.find(*GO_TAGS))
    yield "mixed_polarity", _against_emoji(message)
    yield "complaint", message.has(Tag.BAD, Tag.NAN) and bool(message.find(*GO_TAGS))
    yield "chained", _other_orders(message)
    yield "bulk", _many(message) and bool(message.find(*GO_TAGS)) and not message.runs
    yield "unclear", _contradicts_itself(message)
    yield "precondition", (message.has(Tag.BUT) and not _but_sets(message)) or _still_at_it(message)
    yield "unclear", not all(_clear(clause, message) or _of_others(clause, part) for clause in message.clauses)


def _clear(clause: Clause, message: Message) -> bool:
    if clause.items and clause.items[0].text in REASONS and not clause.acts:  # "because of me" is known, but no reason
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
    said = [item for at, item in enumerate(clause.items) if at not in ordered and item.text not in PUTTING]
    return bool(ordered or not clause.acts) and all(item.has(*_REFUSING) for item in said)


def _doubts(message: Message) -> bool:
    """A mocking emoji; other than a hand to the face beside a mistake that is to be ended."""
    doubts = [item for item in message.items if item.has(Tag.DOUBT)]
    owned = message.has(Tag.BAD, Tag.MISTAKE) and message.find(*END_TAGS) and not message.find(*GO_TAGS)
    return bool(doubts) and not (owned and all(item.text in _FACEPALM for item in doubts))


def _other_orders(message: Message) -> bool:
    """An order beside one of another kind: "generate 5k more, continue", "keep going, kill it"."""
    others = bool(message.find(Tag.SKIP, Tag.EXTEND, Tag.UNDO)) or message.has(Tag.KEEP)
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


def _contradicts_itself(message: Message) -> bool:
    """Two values for one parameter, or a number left over beside a value."""
    names = [setting.name for setting in message.settings]
    return len(set(names)) < len(names) or (bool(names) and message.has(Tag.NUMBER))


def _told(message: Message) -> bool:
    """ "anna: continue"."""
    return any(clause.speaker for clause in message.clauses)


def _partial(clause: Clause) -> bool:
    """ "most checks green", "only the headers look good": a verdict on less than all, unless it tells what was read."""
    if clause.tells_what_was_read:
        return False
    one = any(first.text == "one" and second.has(Tag.NOUN) for first, second in _pairs(clause.items))
    counted = clause.has(Tag.NUMBER) or (clause.has(Tag.NOUN) and not clause.has(Tag.BAD))
    limited = clause.has(Tag.ONLY) and counted and not clause.acts
    return one or limited or any(item.has(Tag.PART) for item in clause.items)


def _half_quoted(message: Message) -> bool:
    saying = [clause for clause in message.clauses if any(not _silent(item) for item in clause.items)]
    return len({clause.spoken for clause in saying}) > 1


def _silent(item: Item) -> bool:
    return item.has(Tag.MARK, Tag.BOT) or item.value == "emoji"


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
    """ "continue but with lr 2e-4": what follows the "but" is nothing but values."""
    for clause in message.clauses:
        at = next((i for i, item in enumerate(clause.items) if item.has(Tag.BUT)), None)
        if at is None:
            continue
        tail = [item for i, item in enumerate(clause.items) if i > at and i not in clause.used]
        if not clause.settings or not all(item.has(*AFTER) for item in tail):
            return False
    return True
