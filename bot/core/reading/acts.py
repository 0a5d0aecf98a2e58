"""Order words in their place: what they order, of which stage, and whether a negation reaches them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.core.reading.items import Item
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
_ASKING_NOT = frozenset(
    f"{verb}{tail}"
    for verb in ("is", "are", "ca", "should", "could", "wo", "would", "does", "did", "has", "have")
    for tail in ("n't", "nt")
)
_AWAITING = frozenset({"until", "till", "unless", "before"})
_NEGATIVE = frozenset({"not", "nicht", "pas", "не"})
ASKED = frozenset({"it", "we", "you", "i", "they", "he", "she", "this", "that", "the", "there"})


@dataclass(frozen=True, kw_only=True)
class Act:
    """An order word in its place. stage: the stage it is about, where one is named after it."""

    tag: Tag
    at: int
    negated: bool = False
    stage: str | None = None
    guessed: bool = False
    text: str = ""


def find_acts(items: Sequence[Item], used: set[int]) -> tuple[list[Act], bool]:
    """The orders of one clause, and whether a negation in it found nothing to bind to."""
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
