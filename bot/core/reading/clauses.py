"""Items to clauses: where a thought ends, and what it orders, claims and sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from bot.core.reading.acts import ORDER_TAGS, Act, find_acts
from bot.core.reading.claims import find_claims, measured
from bot.core.reading.context import ParamSpec
from bot.core.reading.intent import Claim
from bot.core.reading.items import Item
from bot.core.reading.settings import Setting, find_settings
from bot.core.reading.tags import Tag

_SEEMS = frozenset({"look", "looks", "looking"})
_REFUSALS = frozenset({"do not", "don't", "dont", "donot", "never", "must not", "mustn't"})
MEDDLING = frozenset(
    {"touch", "disturb", "bother", "with", "mess", "interrupt", "alone", "change"}
)  # "don't touch r14"
PUTTING = frozenset({"keep", "leave", "put"})
REASONS = frozenset({"because", "since", "cause", "bc", "cuz", "coz", "due to"})
_COMPARES = ("=", "==", "<", ">")
_ENDS = (",", ";", ".", "!", "?", "(", ")", '"', "\n", ">", "=>", "->", "/", "[", "]", "{", "}", "|")


@dataclass(frozen=True, kw_only=True)
class Clause:
    """One thought. loose_not: a negation that found nothing here to bind to."""

    items: tuple[Item, ...]
    line: int = 0
    asked: bool = False
    acts: tuple[Act, ...] = ()
    claims: tuple[Claim, ...] = ()
    settings: tuple[Setting, ...] = ()
    used: frozenset[int] = field(default_factory=frozenset)
    loose_not: bool = False
    not_done: bool = False
    spoken: bool = False  # in quotation marks
    speaker: bool = False  # "somebody:" stands before it

    def has(self, *tags: Tag) -> bool:
        """Whether an item outside the settings belongs to any of these classes."""
        return not self._rest_tags.isdisjoint(tags)

    @cached_property
    def _rest_tags(self) -> frozenset[Tag]:
        return frozenset(tag for item in self.rest() for tag in item.tags)

    def rest(self) -> Iterator[Item]:
        """The items that no setting and no claim used up."""
        return (item for at, item in enumerate(self.items) if at not in self.used)

    @property
    def tells_what_was_read(self) -> bool:
        """ "checked 20 samples", "looked at some"; other than "most look to be green"."""
        return any(item.has(Tag.REVIEW) and item.text not in _SEEMS for item in self.items)

    def runs(self) -> list[str]:
        """The run ids named, in order."""
        return list(dict.fromkeys(str(item.value) for item in self.items if item.has(Tag.RUN) and item.value))

    def addressed(self) -> list[str]:
        """The run ids the order is for: what stands behind a condition or "same as" is only spoken of."""
        bound = next((at for at, item in enumerate(self.items) if item.has(Tag.CONDITION, Tag.SAME)), len(self.items))
        return list(dict.fromkeys(str(item.value) for item in self.items[:bound] if item.has(Tag.RUN) and item.value))

    def stages(self) -> list[str]:
        """The stages named, in order."""
        return list(dict.fromkeys(str(item.value) for item in self.rest() if item.has(Tag.STAGE)))


def split_clauses(items: Sequence[Item]) -> list[Clause]:
    """Cut at punctuation, spaced dashes, line ends, and before "and" or "then" when a new order follows."""
    clauses: list[Clause] = []
    current: list[Item] = []
    line = 0
    quote_open = False

    def close(asked: bool = False, speech: bool = False) -> None:
        nonlocal current
        if current:
            clauses.append(_analyse(current, line, asked, quote_open, speech))
        elif asked and clauses:
            clauses[-1] = replace(clauses[-1], asked=True)
        elif asked:
            clauses.append(Clause(items=(), line=line, asked=True))
        current = []

    speech = False
    for at, item in enumerate(items):
        if _ends_clause(items, at, current):
            named_speaker = item.is_mark(":") and _is_speaker(current)
            close(item.is_mark("?"), speech)
            speech = named_speaker or (speech and not item.is_mark("\n"))
            if item.is_mark('"'):
                quote_open = not quote_open
            line += item.is_mark("\n")
        elif _excepts(items, at, current):
            close(False, speech)
            current = [item] if item.has(Tag.NOT) else []
        elif (_gives_reason(items, at) and any(each.has(*ORDER_TAGS) for each in current)) or (
            item.has(Tag.AND) and _starts_order(items, at + 1) and current
        ):
            close(False, speech)
            current = [item]
        else:
            current.append(item)
    close(False, speech)
    return _carry_refusal(clauses)


def _carry_refusal(clauses: list[Clause]) -> list[Clause]:
    """A bare "do not" reaches over what is put in between: "do not, under any circumstances, continue"."""
    for at, clause in enumerate(clauses):
        if clause.loose_not and all(item.text in _REFUSALS or item.has(Tag.POLITE, Tag.BOT) for item in clause.items):
            later = [replace(c, acts=tuple(replace(act, negated=True) for act in c.acts)) for c in clauses[at + 1 :]]
            return [*clauses[: at + 1], *later]
    return clauses


def _ends_clause(items: Sequence[Item], at: int, current: Sequence[Item]) -> bool:
    item = items[at]
    if not item.has(Tag.MARK):
        return False
    after = items[at + 1] if at + 1 < len(items) else None
    before = current[-1] if current else None
    if item.is_mark(":", *_COMPARES) and before is not None and _number_follows(items, at):
        return not before.has(Tag.PARAM, Tag.METRIC, Tag.NUMBER, Tag.UNKNOWN, Tag.NOUN, Tag.AUX, Tag.MARK)
    if item.is_mark(":") and before is not None and before.has(Tag.STAGE) and after is not None:
        return not after.has(Tag.PARAM)  # "extraction: lr 2e-4"
    if item.is_mark(","):
        listed = before is not None and before.has(Tag.NUMBER) and after is not None and after.has(Tag.NUMBER)
        follows = at + 2 < len(items) and isinstance(items[at + 2].value, ParamSpec)
        return not (listed and not follows)
    if item.is_mark("-"):
        return item.spaced
    if item.is_mark("=", "==") and after is not None and before is not None:
        return False
    return item.is_mark(":", *_ENDS)


def _number_follows(items: Sequence[Item], at: int) -> bool:
    """Whether a number stands behind this mark, or behind ">=" and the like."""
    at += 1
    while at < len(items) and items[at].is_mark(*_COMPARES):
        at += 1
    return at < len(items) and items[at].has(Tag.NUMBER)


def _is_speaker(current: Sequence[Item]) -> bool:
    return len(current) == 1 and current[0].has(Tag.UNKNOWN, Tag.PERSON, Tag.SUBJECT, Tag.REPORT)


def _gives_reason(items: Sequence[Item], at: int) -> bool:
    """ "because ...", "as the vocab is wrong"; other than "as planned"."""
    if items[at].text != "as":
        return items[at].text in REASONS
    after = items[at + 1] if at + 1 < len(items) else None
    return after is not None and (after.has(Tag.ARTICLE, Tag.MY, Tag.METRIC, Tag.PARAM) or after.text in ("it", "we"))


def _excepts(items: Sequence[Item], at: int, current: Sequence[Item]) -> bool:
    """ "continue r12 (but|and) not r14": what is not meant is a thought of its own."""
    if not items[at].has(Tag.NOT, Tag.AND, Tag.BUT):
        return False
    behind = at + 1 if items[at].has(Tag.AND, Tag.BUT) else at
    while behind + 1 < len(items) and items[behind].has(Tag.NOT) and items[behind + 1].text in MEDDLING:
        items = [*items[: behind + 1], *items[behind + 2 :]]  # "but don't touch r14"
    follows = behind + 1 < len(items) and items[behind].has(Tag.NOT) and items[behind + 1].has(Tag.RUN)
    return follows and any(item.has(Tag.RUN) for item in current)


def _starts_order(items: Sequence[Item], at: int) -> bool:
    while at < len(items) and items[at].has(Tag.POLITE, Tag.NOW, Tag.ONLY, Tag.AND, Tag.ARTICLE):
        at += 1
    if at >= len(items):
        return False
    if items[at].text in PUTTING:
        return any(item.has(Tag.HOLD) for item in items[at + 1 : at + 4])
    if items[at].has(Tag.KEEP):
        return at + 1 < len(items) and items[at + 1].has(Tag.RUN)
    if items[at].has(Tag.RUN):
        return at + 1 < len(items) and items[at + 1].has(*ORDER_TAGS)
    return items[at].has(*ORDER_TAGS, Tag.NOT) and not items[at].has(Tag.GOOD)


def _analyse(items: Sequence[Item], line: int, asked: bool, spoken: bool, speaker: bool) -> Clause:
    settings, used = find_settings(items)
    claims, claimed, not_done = find_claims(items, used)
    claimed |= measured(items)
    acts, loose = find_acts(items, used | claimed)
    return Clause(
        items=tuple(items),
        line=line,
        asked=asked,
        acts=tuple(acts),
        claims=tuple(claims),
        settings=tuple(settings),
        used=frozenset(used | claimed),
        loose_not=loose and not not_done,
        not_done=not_done,
        spoken=spoken,
        speaker=speaker,
    )
