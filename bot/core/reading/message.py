"""A message understood by itself, before any run is looked at: its clauses and what they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from bot.core.reading.acts import Act
from bot.core.reading.binding import bind
from bot.core.reading.clauses import Clause, split_clauses
from bot.core.reading.courtesy import fold
from bot.core.reading.intent import Claim
from bot.core.reading.items import Item, classify_tokens, cut_words
from bot.core.reading.names import Names
from bot.core.reading.normalise import Cleaned
from bot.core.reading.questions import asks
from bot.core.reading.settings import Setting
from bot.core.reading.tags import Tag
from bot.core.reading.tokens import MAX_TOKENS, tokenise
from bot.core.reading.views import VIEWS

_TICKED = (Tag.NUMBER, Tag.REVIEW, Tag.GOOD, Tag.DONE, Tag.NOUN, Tag.STAGE)
_FRIENDLY = (Tag.LOOK, Tag.ACK, Tag.HYPE)
_OF_A_LONG_ONE = 40  # tokens read of a message too long to act: enough to see that it holds or asks
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
        return tuple(item for item in self.items if not silent(item))

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


def parse(cleaned: Cleaned, names: Names) -> Message:
    """Understand a cleaned message with the names of the moment."""
    tokens = cut_words(tokenise(cleaned.text, names.whole), names)
    if len(tokens) >= MAX_TOKENS:
        cleaned = replace(cleaned, truncated=True)
    tokens = tokens[:_OF_A_LONG_ONE] if cleaned.truncated else tokens
    items = _bare_view(bind(fold(_without_ornament(classify_tokens(tokens, names)))))
    return Message(tuple(split_clauses(items)), cleaned, bounded=_bounded(items))


def _bare_view(items: list[Item]) -> list[Item]:
    """ "gpu", "show gpus": a parameter's name that is a view as well is one where it stands alone."""
    said = [item for item in items if not silent(item) and not item.has(Tag.POLITE, Tag.ARTICLE, Tag.SHOW)]
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
    """Beside words, the bot's own mention and a friendly emoji say nothing; alone, an emoji is all there is.

    A tick behind what was looked at ends the thought: "samples checked ✅ continue".
    """
    if all(silent(item) for item in items):
        return items
    out: list[Item] = []
    for item in items:
        if item.value == "emoji" and item.has(Tag.ACK) and out and out[-1].has(*_TICKED):
            out.append(Item(frozenset({Tag.MARK}), ","))
        elif not (item.has(Tag.BOT) or (item.value == "emoji" and item.has(*_FRIENDLY))):
            out.append(item)
    return out


def silent(item: Item) -> bool:
    """Whether it is a mark, an emoji or the mention of the bot."""
    return item.has(Tag.MARK, Tag.BOT) or item.value == "emoji"
