"""Items to clauses: where a thought ends, what it orders, claims and sets, and how far its negation reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from bot.core.reading.context import ParamSpec
from bot.core.reading.intent import Claim
from bot.core.reading.items import Item
from bot.core.reading.settings import Setting, find_settings
from bot.core.reading.tags import Tag

# The order in which a word's classes are tried as what it orders.
ORDER_TAGS = (
    Tag.FRESH, Tag.RETRY, Tag.RESUME, Tag.PROCEED, Tag.LGTM, Tag.YES, Tag.CONFIRM, Tag.BEGIN, Tag.DO_STAGE, Tag.HOLD,
    Tag.STOP, Tag.CANCEL, Tag.NUKE, Tag.ODD_KILL, Tag.UNDO, Tag.SKIP, Tag.EXTEND,
)  # fmt: skip
GO_TAGS = frozenset(
    {Tag.PROCEED, Tag.LGTM, Tag.YES, Tag.CONFIRM, Tag.BEGIN, Tag.DO_STAGE, Tag.RESUME, Tag.RETRY, Tag.FRESH}
)
BARE_TAGS = frozenset({Tag.LGTM, Tag.YES, Tag.CONFIRM})  # mean something only as an answer
END_TAGS = frozenset({Tag.STOP, Tag.CANCEL, Tag.NUKE, Tag.ODD_KILL})
_OPENERS = (
    Tag.POLITE, Tag.FILLER, Tag.AND, Tag.PERMIT, Tag.YES, Tag.NO, Tag.NOT, Tag.NOW, Tag.BOT, Tag.PERSON, Tag.RUN,
    Tag.PRAISE, Tag.LOOK, Tag.ACK, Tag.ONLY, Tag.GOOD, Tag.MODAL, Tag.HEDGE, Tag.SUBJECT, Tag.DONE, Tag.CONDITION,
    Tag.TO, Tag.AUX, Tag.WH, Tag.JOKE, Tag.FIRST, Tag.GLUE, Tag.FILL, Tag.ADDRESS,
)  # fmt: skip
_COMPARES = ("=", "==", "<", ">")
_SEEMS = frozenset({"look", "looks", "looking"})
_REFUSALS = frozenset({"do not", "don't", "dont", "donot", "never", "must not", "mustn't"})
_ASKING_NOT = frozenset(
    f"{verb}{tail}"
    for verb in ("is", "are", "ca", "should", "could", "wo", "would", "does", "did", "has", "have")
    for tail in ("n't", "nt")
)
_AWAITING = frozenset({"until", "till", "unless", "before"})
PUTTING = frozenset({"keep", "leave", "put"})
_BYTES = frozenset({"tb", "gb", "mb", "tib", "gib", "mib"})
REASONS = frozenset({"because", "since", "cause", "bc", "cuz", "coz", "due to"})
_NEGATIVE = frozenset({"not", "nicht", "pas", "не"})
ASKED = frozenset({"it", "we", "you", "i", "they", "he", "she", "this", "that", "the", "there"})
_ENDS = (",", ";", ".", "!", "?", "(", ")", '"', "\n", ">", "=>", "->", "/", "[", "]", "{", "}", "|")


@dataclass(frozen=True, kw_only=True)
class Act:
    """An order word in its place. stage: the stage it is about, where one is named after it."""

    tag: Tag
    at: int
    negated: bool = False
    stage: str | None = None
    guessed: bool = False
    text: str = ""


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
            clauses.append(replace(_analyse(current, line, asked, quote_open), speaker=speech))
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
        elif _gives_reason(items, at) and any(each.has(*ORDER_TAGS) for each in current):
            close(False, speech)
            current = [item]
        elif item.has(Tag.AND) and _starts_order(items, at + 1) and current:
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
    follows = behind + 1 < len(items) and items[behind].has(Tag.NOT) and items[behind + 1].has(Tag.RUN)
    return follows and any(item.has(Tag.RUN) for item in current)


def _starts_order(items: Sequence[Item], at: int) -> bool:
    while at < len(items) and items[at].has(Tag.POLITE, Tag.NOW, Tag.ONLY, Tag.AND, Tag.ARTICLE):
        at += 1
    if at >= len(items):
        return False
    if items[at].text in PUTTING:
        return any(item.has(Tag.HOLD) for item in items[at + 1 : at + 4])
    if items[at].has(Tag.RUN):
        return at + 1 < len(items) and items[at + 1].has(*ORDER_TAGS)
    return items[at].has(*ORDER_TAGS, Tag.NOT) and not items[at].has(Tag.GOOD)


def _analyse(items: Sequence[Item], line: int, asked: bool, spoken: bool) -> Clause:
    settings, used = find_settings(items)
    claims, claimed, not_done = _find_claims(items, used)
    claimed |= _measured(items)
    acts, loose = _find_acts(items, used | claimed)
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
    )


def _find_claims(items: Sequence[Item], used: set[int]) -> tuple[list[Claim], set[int], bool]:
    """ "extraction (has|is|looks) done|fine", "done with extraction", "done"; a negated one is no claim."""
    claims: list[Claim] = []
    claimed: set[int] = set()
    not_done = False
    stage_at: int | None = None
    for at, item in enumerate(items):
        if at in used:
            continue
        if item.has(Tag.STAGE):
            stage_at = at
        elif item.has(Tag.DONE) or (item.has(Tag.GOOD) and stage_at is not None):
            if any(items[i].has(Tag.NOT) and not rhetorical(items, i) for i in range(max(0, at - 3), at)):
                not_done = True
                continue
            span = _claim_span(items, at, stage_at)
            named = [i for i in span if items[i].has(Tag.STAGE)]
            stage = str(items[named[0]].value) if named else None
            claims.append(Claim(stage=stage, status="done" if item.has(Tag.DONE) else "good"))
            claimed |= span
            stage_at = None
        elif not item.has(Tag.AUX, Tag.GLUE, Tag.FILL, Tag.REVIEW, Tag.NOUN, Tag.ARTICLE, Tag.HEDGE, Tag.NOT, Tag.RUN):
            stage_at = None
    return claims, claimed, not_done


def _measured(items: Sequence[Item]) -> set[int]:
    """The positions of "loss < 2", "accuracy is 0.7": a figure somebody read, not a value to set."""
    spans: set[int] = set()
    for at, item in enumerate(items):
        end = at + 1
        if item.has(Tag.NUMBER) and _in_bytes(items, at):
            spans |= {at, at + 1} if item.text[-1].isdigit() else {at}
        if not item.has(Tag.METRIC):
            continue
        while end < len(items) and (
            items[end].has(Tag.AUX, Tag.AT, Tag.GLUE, Tag.FILL) or items[end].is_mark("<", ">", "=", ":")
        ):
            end += 1
        if end < len(items) and items[end].has(Tag.NUMBER):
            spans |= set(range(at, end + 1))
    return spans


def _in_bytes(items: Sequence[Item], at: int) -> bool:
    """ "2 TB", "80GB": how much there is of something, no value and no count of samples."""
    unit = items[at].text.lstrip("0123456789.,")
    after = items[at + 1].text if at + 1 < len(items) else ""
    return (unit or after) in _BYTES


def _claim_span(items: Sequence[Item], at: int, stage_at: int | None) -> set[int]:
    """The positions of a claim: the status word, the stage it is about, and the auxiliaries between."""
    if stage_at is not None:
        return {i for i in range(stage_at, at + 1) if not items[i].has(Tag.NOT, Tag.HEDGE)}
    after = at + 1
    while after < len(items) and items[after].has(Tag.SET, Tag.ARTICLE):
        after += 1
    if after < len(items) and items[after].has(Tag.STAGE):
        return set(range(at, after + 1))
    start = at
    while start > 0 and items[start - 1].has(Tag.AUX, Tag.GLUE, Tag.FILL, Tag.NOUN, Tag.ARTICLE):
        start -= 1
    return set(range(start, at + 1))


def _find_acts(items: Sequence[Item], used: set[int]) -> tuple[list[Act], bool]:
    acts: list[Act] = []
    negated = loose = False
    awaited = False  # "hold until i confirm": what is waited for is not ordered
    opening = True  # nothing but words that may stand before an order so far
    for at, item in enumerate(items):
        if at in used:
            continue
        awaited = awaited or (item.text in _AWAITING and any(act.tag is Tag.HOLD for act in acts))
        tag = None if awaited else _order_of(item, opening and not acts)
        opening = opening and item.has(*_OPENERS, Tag.MARK)
        if item.has(Tag.BUT):
            negated = False  # "not perfect but continue": what was negated is said before it
        elif item.has(Tag.HOLD) and tag is Tag.HOLD and not _NEGATIVE.isdisjoint(item.text.split()):
            acts.append(Act(tag=tag, at=at, negated=negated, guessed=item.guessed, text=item.text))
            negated = True  # "noch nicht starten", "not yet start"
        elif item.has(Tag.NOT) and not rhetorical(items, at):
            follows_order = bool(acts) and at == acts[-1].at + 1
            if follows_order:
                acts[-1] = replace(acts[-1], negated=True)
            negated, loose = True, not follows_order
        elif item.has(Tag.STAGE) and acts and acts[-1].stage is None and acts[-1].tag not in BARE_TAGS:
            acts[-1] = replace(acts[-1], stage=str(item.value))
        elif tag is not None:
            stage = str(item.value) if item.has(Tag.STAGE) else None
            acts.append(
                Act(
                    tag=tag,
                    at=at,
                    negated=negated or _refused(items, at, tag),
                    stage=stage,
                    guessed=item.guessed,
                    text=item.text,
                )
            )
            loose = False
        elif item.has(Tag.SET, Tag.RELATIVE, Tag.PARAM):
            loose = False
    return acts, loose


def _refused(items: Sequence[Item], at: int, tag: Tag) -> bool:
    """ "no retry please", "no restart yet": the word as a noun; other than "no start it" and "no cancel"."""
    behind = (
        item.has(Tag.POLITE, Tag.TIME, Tag.LATER, Tag.NOW, Tag.MARK) or item.text == "yet" for item in items[at + 1 :]
    )
    return tag in (Tag.RETRY, Tag.BEGIN) and at > 0 and items[at - 1].text == "no" and all(behind)


def rhetorical(items: Sequence[Item], at: int) -> bool:
    """Whether a negation only asks: "isn't it time to continue?", "shouldn't we go on"."""
    opens = all(item.has(Tag.POLITE, Tag.ADDRESS, Tag.FILLER, Tag.BOT, Tag.AND, Tag.BUT) for item in items[:at])
    after = items[at + 1] if at + 1 < len(items) else None
    return (
        opens and items[at].text in _ASKING_NOT and after is not None and (after.text in ASKED or after.has(Tag.STAGE))
    )


def _order_of(item: Item, opening: bool) -> Tag | None:
    """The order a word gives here; a word that may be a noun gives one only where an order can begin."""
    tag = next((tag for tag in ORDER_TAGS if tag in item.tags), None) if item.value != "emoji" else None
    if tag is None or opening or not item.has(Tag.NOUN, Tag.DO_STAGE, Tag.GOOD, Tag.STAGE):
        return tag
    return None
