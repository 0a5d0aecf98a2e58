"""What is told beside an order that is clear by itself: why it is given, or how good things look.

Such an account may hold words that nobody listed ("cancel, wrong tokenizer", "the chat template is right, go").
What it tells must be about the work; it may not sound like a wish, an errand or a doubt, which words of other
classes would say: those object by themselves, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bot.core.reading.acts import END_TAGS, GO_TAGS, Act
from bot.core.reading.binding import TURNED
from bot.core.reading.clauses import Clause
from bot.core.reading.items import Item
from bot.core.reading.questions import asks
from bot.core.reading.tags import Tag

_STRANGE = 3  # words of no class that a reason may hold; an assessment two, and only in what it is about
_ASSESSED = 2
AGAIN = frozenset({Tag.RETRY, Tag.RESUME})
_THINGS = frozenset(
    {Tag.NOUN, Tag.STAGE, Tag.METRIC, Tag.PARAM, Tag.SUITE, Tag.HOST, Tag.MODEL, Tag.RUN, Tag.VIEW}
)  # fmt: skip
_JOINING = frozenset(
    {Tag.ARTICLE, Tag.MY, Tag.FILL, Tag.GLUE, Tag.AND, Tag.AUX, Tag.TO, Tag.ON, Tag.IN, Tag.AT, Tag.ONLY, Tag.NOW,
     Tag.NUMBER, Tag.BOUND, Tag.POLITE, Tag.MARK, Tag.AGAIN}
)  # fmt: skip
_REASON = _THINGS | _JOINING | {
    Tag.SUBJECT, Tag.BAD, Tag.NAN, Tag.GOOD, Tag.DONE, Tag.PAST, Tag.STATE, Tag.NEED, Tag.SET, Tag.SHOW, Tag.WHICH,
    Tag.REVIEW, Tag.MISTAKE, Tag.RELATIVE, Tag.PRAISE, Tag.MORE, Tag.FILLER, Tag.BOUND,
}  # fmt: skip
_HEAD = _THINGS | {
    Tag.ARTICLE,
    Tag.MY,
    Tag.FILL,
    Tag.AND,
    Tag.SHOW,
    Tag.NUMBER,
    Tag.BULK,
    Tag.BOTH,
    Tag.FILLER,
    Tag.MARK,
}
_VERDICT = frozenset({Tag.GOOD, Tag.PRAISE, Tag.DONE})
_TAIL = _VERDICT | _JOINING | {Tag.REVIEW, Tag.FILLER, Tag.STATE, Tag.NOUN, Tag.STAGE}
_READY = frozenset(
    {"free", "idle", "available", "reachable", "online", "healthy", "alive", "responding", "ours", "all ours"}
)
_FELL = frozenset({"went down", "came down", "goes down", "dropped"})
_TURNED = _FELL | TURNED
_AGREEING = frozenset(
    {"agrees", "agreed", "agree", "fine with", "happy with", "ok with", "okay with", "satisfied with", "approves"}
)
_SOMEBODY = frozenset({"someone", "somebody", "anyone", "anybody", "everyone", "everybody", "people", "you"})
_IT = frozenset({"it", "this", "that", "all"})
_SMALLER = frozenset({"loss", "perplexity"})  # the less, the better
_WAS = frozenset({"was", "were", "had"})
_FUTURE = frozenset({"will", "it'll", "i'll", "we'll", "he'll", "she'll", "they'll", "you'll", "be"})


def accounts(clause: Clause, acts: Collection[Act]) -> bool:
    """Whether the clause only tells something that belongs beside these orders."""
    if clause.acts or clause.settings or clause.asked or asks(clause):
        return False
    tags = {act.tag for act in acts if not act.negated}
    rest = tuple(item for item in clause.rest() if item.value != "emoji")
    if not tags or not rest:
        return False
    if tags <= END_TAGS:
        return _gives_reason(rest) and not _praises(rest)
    if tags <= AGAIN:
        return _assesses(rest) or (_gives_reason(rest, _is_told(rest)) and _is_past(rest))
    return tags <= GO_TAGS and (_assesses(rest) or _agrees(rest))


def _gives_reason(items: Sequence[Item], told: bool = False) -> bool:
    """ "wrong tokenizer", "we need the gpus", "the node was rebooted": about the work, and nearly understood."""
    strange = sum(item.has(Tag.UNKNOWN) for item in items)
    about = told or any(item.has(*_THINGS, Tag.BAD, Tag.NAN) or _owns_up(item) or _is_enough(item) for item in items)
    pointing = [at for at, item in enumerate(items) if item.has(Tag.WHICH) and not _describes(items, at)]
    known = all(item.has(Tag.UNKNOWN) or item.tags & _REASON or _is_enough(item) for item in items)
    return about and known and strange <= _STRANGE and not pointing


def _is_told(items: Sequence[Item]) -> bool:
    """ "the vpn was down", "permissions are fixed", "it's back up again": what has changed; nothing that goes on."""
    if any(item.text in _WAS for item in items):
        return True
    open_ended = any(item.has(Tag.TO) or (item.has(Tag.UNKNOWN) and item.text.endswith("ing")) for item in items)
    changed = any(item.has(Tag.GOOD, Tag.AGAIN, Tag.BOUND) or item.text == "back" for item in items)
    return changed and not open_ended and any(item.has(Tag.AUX) for item in items)


def _is_enough(item: Item) -> bool:
    """ "that is enough, kill it"."""
    return item.has(Tag.WAIVE) and item.text.endswith("enough")


def _owns_up(item: Item) -> bool:
    """ "oops", "my mistake"; other than "wrong thread", which takes the order itself back."""
    return item.has(Tag.MISTAKE) and not item.text.startswith(("wrong", "not", "was", "meant"))


def _praises(items: Sequence[Item]) -> bool:
    """ "kill it, lr is fine": no reason to end anything."""
    return any(item.has(Tag.GOOD) for item in items) and not any(item.has(Tag.BAD, Tag.NAN) for item in items)


def _describes(items: Sequence[Item], at: int) -> bool:
    """ "the other job" tells which job it was; "the other one" points at what is not written here."""
    return at + 1 < len(items) and items[at + 1].has(*_THINGS, Tag.UNKNOWN) and items[at + 1].text != "one"


def _is_past(items: Sequence[Item]) -> bool:
    """Whether it tells what was or is, other than an errand ("fix the disk") or a promise ("i'll free the disk")."""
    if any(item.text in _FUTURE or (item.has(Tag.NEED) and item.text != "another") for item in items):
        return False
    said = [item for item in items if not item.has(Tag.POLITE, Tag.ADDRESS, Tag.FILL, Tag.MARK)]
    said = said[1:] if len(said) > 1 and said[0].text in _SOMEBODY else said  # "someone fix the disk"
    first = said[0] if said else items[0]
    after = said[1] if len(said) > 1 else None
    errand = first.has(Tag.UNKNOWN, Tag.SET, Tag.SHOW, Tag.RELATIVE, Tag.GOOD) and not first.text.endswith("ed")
    return not (
        errand and after is not None and after.has(Tag.ARTICLE, Tag.MY, Tag.GLUE, Tag.NOUN, Tag.STAGE, Tag.HOST)
    )


def _assesses(items: Sequence[Item]) -> bool:
    """ "final loss is fine", "the chat template looks right", "gpus are free": a thing, and a verdict on it."""
    at = next((i for i, item in enumerate(items) if _says(item)), None)
    if at is None:
        return False
    head, tail = items[:at], items[at:]
    strange = sum(item.has(Tag.UNKNOWN) for item in head)
    things = bool(head) and (head[-1].has(*_THINGS) or (tail[0].text in _TURNED and head[-1].text in _IT))
    verdict = any(item.tags & _VERDICT or item.text in _READY for item in tail) or (
        tail[0].text in _FELL and any(item.value in _SMALLER for item in head)
    )
    doubtful = any(item.has(Tag.STATE) and item.text not in _READY for item in tail)
    return (
        things
        and verdict
        and not doubtful
        and strange <= _ASSESSED
        and all(item.has(Tag.UNKNOWN) or item.tags & _HEAD or item.text in _IT for item in head)
        and all(item.tags & _TAIL or item.text in _TURNED or item.text == "anyway" for item in tail)
    )


def _agrees(items: Sequence[Item]) -> bool:
    """ "anna is fine with it too", "the team agrees": who else is for it; other than "anna would agree to wait"."""
    at = next((i for i, item in enumerate(items) if item.text in _AGREEING), None)
    if not at:
        return False
    who, tail = items[:at], items[at + 1 :]
    strange = sum(item.has(Tag.UNKNOWN) for item in who)
    named = all(item.has(Tag.UNKNOWN, Tag.SUBJECT, Tag.ARTICLE, Tag.MY, Tag.AND, Tag.AUX, Tag.ADDRESS) for item in who)
    return named and strange <= _ASSESSED and all(item.has(Tag.GLUE, Tag.FILL, Tag.MARK, Tag.BULK) for item in tail)


def _says(item: Item) -> bool:
    return item.has(Tag.AUX, Tag.REVIEW, *_VERDICT, Tag.STATE) or item.text in _TURNED
