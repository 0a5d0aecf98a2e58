"""Words that mean something else beside their neighbour: "no errors", "has enough disk", "looks clean", "great run"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.core.reading.items import Item
from bot.core.reading.tags import Tag

_HAVING = frozenset({"has", "have", "had", "got", "there is", "there's", "is there", "gets"})
_REPEATED = frozenset({"try", "run", "do", "give", "give it", "start", "launch", "go", "have", "re"})
_BOUND_WORDS = frozenset({"looks good to me", "do", "enough", "clean", "next", "am", "work", "job", "stuff", "effort"})
_BOUND_TAGS = (Tag.STAGE, Tag.VIEW, Tag.BEGIN)
_DENIAL = 4
_MOVING = frozenset({"moving", "going", "rolling", "started", "cracking", "underway"})
_LEAVING = frozenset({"leave", "keep", "let"})
_LEFT_TO = frozenset({"alone", "running", "be", "going", "as is", "as it is", "untouched", "run", "in peace"})
_SEEING = frozenset({"see", "find", "notice", "spot", "have", "detect", "found", "saw"})
_GLANCES = frozenset({"look", "look at", "peek", "glance", "look over", "look through"})
_TAKEN = frozenset({"had", "took", "taken"})
_HINDERING = frozenset({"full", "busy", "unreachable", "offline", "occupied"})
_GLAD_TO = frozenset({"good to", "happy to"})
TURNED = frozenset({"went", "came out", "turned out", "stayed"})
_DEEDS = frozenset({"work", "job", "stuff", "effort"})
_PLAIN_ORDER = frozenset({Tag.BEGIN, Tag.DO_STAGE, Tag.FRESH})


def bind(items: list[Item]) -> list[Item]:
    """The items, each read beside its neighbours."""
    out: list[Item] = []
    for at, item in enumerate(items):
        if item.has(Tag.MARK, Tag.AND, Tag.BUT, Tag.POLITE):
            _leave(out)
        if item.has(Tag.BAD, Tag.NAN) and not item.guessed and (size := _denied(out) or _unseen(out)):
            said = [*out[-size:], item]
            out[-size:] = [Item(frozenset({Tag.BOUND}), " ".join(each.text for each in said))]
            continue
        if (
            (item.has(Tag.BAD) or item.text in _HINDERING) and out and out[-1].text == "no longer"
        ):  # "the disk is no longer full"
            out[-1] = Item(frozenset({Tag.BOUND}), f"no longer {item.text}")
            continue
        if item.has(Tag.AGAIN) and (size := _repeats(out)):
            said = [*out[-size:], item]
            out[-size:] = [Item(frozenset({Tag.RETRY}), " ".join(each.text for each in said))]
            continue
        if _glad(out, item, items[at + 1] if at + 1 < len(items) else None):
            size = 1 if out[-1].text in _GLAD_TO else 2
            out[-size:] = [Item(frozenset({Tag.PRAISE}), " ".join(each.text for each in [*out[-size:], item]))]
            continue
        if item.text in _MOVING and (size := _urges(out)):
            said = [*out[-size:], item]
            out[-size:] = [Item(frozenset({Tag.HYPE}), " ".join(each.text for each in said))]
            continue
        if item.has(Tag.BOUND) and out and out[-1].text in _SEEING:  # "i see no problem"
            out[-1] = replace(out[-1], tags=frozenset({Tag.REVIEW}))
        if item.text in _GLANCES and (size := _took(out)):
            said = [*out[-size:], item]
            out[-size:] = [Item(frozenset({Tag.REVIEW}), " ".join(each.text for each in said))]
            continue
        if item.text in _LEFT_TO and (size := _spared(out)):
            run = out[-1]
            out[-size:] = [Item(frozenset({Tag.KEEP}), "leave it alone"), run]
            continue
        after = items[at + 1] if at + 1 < len(items) else None
        for applies, tags in _RULES if item.text in _BOUND_WORDS or item.has(*_BOUND_TAGS) else ():
            if applies(out, item, after):
                item = replace(item, tags=tags(item.tags))
        out.append(item)
    _leave(out)
    return out


def _leave(before: list[Item]) -> None:
    """ "start r12, leave r14": what ends with the run's name leaves it alone."""
    if (size := _spared(before)) and before[-size].text == "leave":
        before[-size:] = [Item(frozenset({Tag.KEEP}), "leave it alone"), before[-1]]


def _repeats(before: Sequence[Item]) -> int:
    """How many words of "try it", "give it", "run that" stand before an "again"; 0 for none."""
    size = 1 + bool(before and before[-1].text in ("it", "that", "this"))
    return size if len(before) >= size and before[-size].text in _REPEATED else 0


def _spared(before: Sequence[Item]) -> int:
    """Whether "leave r14" or "keep the r14" stands before an "alone", and how many words that is."""
    size = 3 if len(before) > 2 and before[-2].has(Tag.ARTICLE) else 2
    return size if len(before) >= size and before[-1].has(Tag.RUN) and before[-size].text in _LEAVING else 0


def _took(before: Sequence[Item]) -> int:
    """How many words of "took a", "had a good" stand before a "look"; 0 for none."""
    size = 2 if before and before[-1].has(Tag.ARTICLE) else 3
    taken = len(before) >= size and before[-size].text in _TAKEN and before[1 - size].has(Tag.ARTICLE)
    taken = taken and not before[-1].has(Tag.BAD, Tag.NOT)
    return size if taken else 0


def _unseen(before: Sequence[Item]) -> int:
    """How many words of "don't see any", "did not find" stand before what would be bad; 0 for none."""
    size = 2 + bool(before and before[-1].text in ("any", "anything"))
    seen = len(before) >= size and before[1 - size].text in _SEEING and before[-size].has(Tag.NOT)
    return size if seen else 0


def _urges(before: Sequence[Item]) -> int:
    """How many words of "let's get this" stand before a "moving"; 0 for none."""
    for size in range(2, min(len(before), 4) + 1):
        first, rest = before[-size], before[len(before) - size + 1 :]
        if first.has(Tag.PERMIT) and rest[0].text == "get" and all(item.has(Tag.GLUE, Tag.FILL) for item in rest[1:]):
            return size
    return 0


def _denied(before: Sequence[Item]) -> int:
    """How many words of "no", "nothing looks", "no samples are" stand before what would be bad; 0 for none."""
    for size in range(1, min(len(before), _DENIAL) + 1):
        item = before[-size]
        if item.text in ("no", "nothing", "zero", "0", "not a single", "not one"):
            return size
        verb = item.has(Tag.AUX, Tag.REVIEW, Tag.FILL) or item.text in ("seems", "seem")
        if not verb and (size == 1 or not item.has(Tag.NOUN)):
            return 0
    return 0


def _had(before: Sequence[Item], item: Item, after: Item | None) -> bool:
    """ "if box1 has enough disk": there is enough of something, other than "that's enough"."""
    return item.text == "enough" and bool(before) and before[-1].text in _HAVING


def _found_clean(before: Sequence[Item], item: Item, after: Item | None) -> bool:
    """ "samples look clean": a verdict, other than "start clean"."""
    said = _last_said(before, Tag.FILL, Tag.BULK, Tag.BOTH)
    alone = len(before) == 1 and before[0].has(Tag.BULK, Tag.BOTH)  # "all clean"
    return item.text == "clean" and (said.has(Tag.AUX, Tag.REVIEW) or said.text in TURNED or alone)


def _named_stage(before: Sequence[Item], item: Item, after: Item | None) -> bool:
    """ "extract is finish": the stage is spoken of, not ordered."""
    return item.has(Tag.STAGE) and item.has(Tag.DO_STAGE) and after is not None and after.has(Tag.AUX)


def _praised(before: Sequence[Item], item: Item, after: Item | None) -> bool:
    """ "great run", "nice speed": a noun behind praise, with nothing behind it that could be begun."""
    ends = after is None or after.has(Tag.MARK)
    noun = item.has(Tag.VIEW) or item.text in _DEEDS or (item.has(Tag.NOUN) and item.has(Tag.BEGIN))
    return ends and noun and bool(before) and before[-1].has(Tag.PRAISE)


def _glad(before: Sequence[Item], item: Item, after: Item | None) -> bool:
    """ "good to hear", "great to see that": praise, with nothing behind it that is heard or seen."""
    if item.text not in ("hear", "know", "see", "learn") or not before:
        return False
    praised = before[-1].text in _GLAD_TO or (
        len(before) > 1 and before[-1].has(Tag.TO) and before[-2].has(Tag.PRAISE, Tag.GOOD)
    )
    return praised and (after is None or after.has(Tag.MARK))


def _speaker_is(before: Sequence[Item], item: Item, after: Item | None) -> bool:
    """ "i am": a verb, other than "9 am"."""
    return item.text == "am" and bool(before) and before[-1].has(Tag.SUBJECT)


def _looks_good(before: Sequence[Item], item: Item, after: Item | None) -> bool:
    """ "evidence looks good to me": a verdict on a thing, no answer."""
    return item.text == "looks good to me" and bool(before) and before[-1].has(Tag.NOUN, Tag.STAGE, Tag.METRIC)


def _done_stage(before: Sequence[Item], item: Item, after: Item | None) -> bool:
    """ "do training": as "do the training"."""
    return item.text == "do" and after is not None and after.has(Tag.STAGE)


def _next_stage(before: Sequence[Item], item: Item, after: Item | None) -> bool:
    """ "next: training", "training next": said of a stage, it is no order."""
    beside = [*before[-1:], *([after] if after else [])]
    colon = after is not None and after.is_mark(":")
    return item.text == "next" and (colon or any(each.has(Tag.STAGE) for each in beside))


def _last_said(before: Sequence[Item], *passed: Tag) -> Item:
    return next((each for each in reversed(before) if not each.has(*passed)), Item(frozenset(), ""))


_Applies = Callable[[Sequence[Item], Item, Item | None], bool]
_Retag = Callable[[frozenset[Tag]], frozenset[Tag]]
_RULES: tuple[tuple[_Applies, _Retag], ...] = (
    (_looks_good, lambda tags: frozenset({Tag.GOOD})),
    (_had, lambda tags: frozenset({Tag.FILL})),
    (_found_clean, lambda tags: frozenset({Tag.GOOD})),
    (_named_stage, lambda tags: tags - _PLAIN_ORDER),
    (_praised, lambda tags: frozenset({Tag.NOUN})),
    (_done_stage, lambda tags: frozenset({Tag.BEGIN})),
    (_next_stage, lambda tags: frozenset({Tag.FILL})),
    (_speaker_is, lambda tags: frozenset({Tag.AUX})),
)
