"""Whether every word of a clause is understood, and none is of a kind that could turn an order into talk.

The verbs of orders are everyday words ("go team", "run the numbers", "go check the logs"), so what may
stand behind one is a short list; before it and beside it more is allowed.
"""

from __future__ import annotations

from bot.core.reading.acts import END_TAGS, GO_TAGS
from bot.core.reading.clauses import Clause
from bot.core.reading.items import Item
from bot.core.reading.tags import Tag

_ORDERS = GO_TAGS | END_TAGS | {Tag.HOLD, Tag.UNDO, Tag.SKIP, Tag.EXTEND}
_ORNAMENT = frozenset({Tag.LOOK, Tag.ACK, Tag.BOT, Tag.MARK})

AFTER = _ORNAMENT | {
    Tag.POLITE, Tag.NOW, Tag.AND, Tag.GLUE, Tag.ONLY, Tag.RUN, Tag.STAGE, Tag.SUITE, Tag.BOTH,
    Tag.PERMIT, Tag.BUT, Tag.BULK,
}  # fmt: skip
_BEFORE = AFTER | {
    Tag.FILLER, Tag.PRAISE, Tag.ADDRESS, Tag.GOOD, Tag.DONE, Tag.BOUND, Tag.METRIC, Tag.BAD, Tag.NAN,
}  # fmt: skip
_AGREEING = _BEFORE - {Tag.BAD, Tag.NAN, Tag.DONE}
_BESIDE = _BEFORE | {
    Tag.FILL, Tag.NOUN, Tag.REVIEW, Tag.SET, Tag.AUX, Tag.SUBJECT, Tag.NUMBER, Tag.AT, Tag.IN, Tag.ON, Tag.TO,
    Tag.PERSON, Tag.KEEP, Tag.ARTICLE, Tag.MY, Tag.AGAIN,
}  # fmt: skip
_BESIDE_VALUE = AFTER | {Tag.FILLER, Tag.ADDRESS, Tag.SET}
ASSENTS = frozenset(
    {"by all means", "green light", "good to go", "ready to go", "all systems go", "you have my approval",
     "you have my ok", "you have my blessing"}
)  # fmt: skip
_OBJECTS = frozenset({"run", "job", "jobs", "stage", "step", "pipeline", "process", "gate", "one", "card"})
_WITH = frozenset({"with", "using", "w", "w/"})
_LAST = frozenset({"last", "latest", "newest", "recent", "best"})
_OK = frozenset({"ok", "okay"})
_NEED_OBJECT = frozenset({"run", "trigger", "spin up", "fire up", "on to", "onto"})
_AGAIN_AFTER = frozenset({Tag.RETRY, Tag.RESUME, Tag.BEGIN, Tag.DO_STAGE})
_MANNERS = (Tag.POLITE, Tag.ADDRESS, Tag.AND, Tag.BOT, Tag.MARK)
_VAGUE = 2  # unknown words that an aside about what was looked at may hold


def understood(clause: Clause) -> bool:
    """Whether nothing in the clause is unknown or out of place."""
    if clause.acts or clause.settings:
        return _order_understood(clause)
    rest = list(clause.rest())
    vague = sum(not _is(item, _BESIDE | _ORDERS) for item in rest)
    looked = clause.has(Tag.REVIEW) and clause.items[0].has(Tag.REVIEW, Tag.SUBJECT)
    return (vague == 0 and not _errand(rest)) or (vague <= _VAGUE and looked)


def _errand(items: list[Item]) -> bool:
    """ "update the config", "correct the labels": known words, but something to be done."""
    at = next((i for i, item in enumerate(items) if not item.has(*_MANNERS)), len(items))
    asked = at + 1 < len(items) and items[at].has(Tag.SET, Tag.GOOD) and not items[at].text.endswith(tuple(_WITH))
    return asked and items[at + 1].has(Tag.ARTICLE, Tag.MY)


def _is(item: Item, tags: frozenset[Tag]) -> bool:
    return (
        bool(item.tags & tags) or item.text in ASSENTS or item.value == "emoji"
    )  # what an emoji objects to is said elsewhere


def _order_understood(clause: Clause) -> bool:
    if not clause.acts:
        said = ((at, item) for at, item in enumerate(clause.items) if at not in clause.used)
        return all(_is(item, _BESIDE_VALUE) or item.text in _WITH or _for_its_stage(clause, at) for at, item in said)
    bare = [act.at for act in clause.acts if act.tag is Tag.YES]  # "yep all good, go ahead"
    first = min((act.at for act in clause.acts if act.tag is not Tag.YES), default=max(bare, default=0))
    agrees = first in bare
    if clause.acts and clause.acts[-1].text in _NEED_OBJECT and clause.acts[-1].at == len(clause.items) - 1:
        return False
    for at, item in enumerate(clause.items):
        if at in clause.used:
            if at > first and not _set_or_stage(clause, at):
                return False
            continue
        if at < first and at not in bare and not (_is(item, _BEFORE) or _assessed(clause, at) or _leads_in(clause, at)):
            return False
        if at >= first and not (_is(item, (_AGREEING if agrees else AFTER) | _ORDERS) or _fits(clause, at, item)):
            return False
    return True


def _for_its_stage(clause: Clause, at: int) -> bool:
    """ "lr 2e-4 for training", "for the training": the stage that the value belongs to."""
    named = next((item for item in clause.items[at + 1 :] if not item.has(Tag.ARTICLE)), None)
    own = {setting.spec.stage for setting in clause.settings if setting.spec is not None}
    joins = clause.items[at].has(Tag.FILL, Tag.ARTICLE, Tag.IN)
    return joins and named is not None and named.has(Tag.STAGE) and own == {named.value}


def _set_or_stage(clause: Clause, at: int) -> bool:
    """Whether a used-up item behind the verb is a value or says what was measured, not a claim ("go over")."""
    return bool(clause.settings) or any(item.has(Tag.STAGE, Tag.METRIC) for item in clause.items[: at + 1])


def _leads_in(clause: Clause, at: int) -> bool:
    """ "please to continue" is foreign but plain; "sorry, cancel that" ends what was a mistake."""
    item = clause.items[at]
    if item.has(Tag.TO):
        return at > 0 and clause.items[at - 1].has(Tag.POLITE) and at + 1 == clause.acts[0].at
    return item.has(Tag.MISTAKE) and all(act.tag in END_TAGS for act in clause.acts)


def _assessed(clause: Clause, at: int) -> bool:
    """ "logs look good continue": nouns and looking may stand before the verb when a verdict follows."""
    item = clause.items[at]
    verdict = any(other.has(Tag.GOOD) for other in clause.items[: clause.acts[0].at])
    return verdict and item.has(Tag.NOUN, Tag.REVIEW, Tag.AUX, Tag.FILL)


def _from_what_is_there(clause: Clause, at: int) -> bool:
    """ "resume from the last good shard": the rest of the order says where what is kept ends."""
    items = clause.items
    start = next((i for i in range(at, clause.acts[0].at, -1) if items[i].text == "from"), None)
    if start is None or not any(act.tag in _AGAIN_AFTER for act in clause.acts):
        return False
    place = [item for item in items[start + 1 :] if not item.has(Tag.POLITE, Tag.NOW, Tag.MARK)]
    kept = len(place) > 1 and place[-1].has(Tag.NOUN) and any(_is_last(item) for item in place)
    return kept and all(item.has(Tag.ARTICLE, Tag.NOUN, Tag.GOOD, Tag.DONE) or _is_last(item) for item in place)


def _is_last(item: Item) -> bool:
    return item.text.removeprefix("the ") in _LAST


def _fits(clause: Clause, at: int, item: Item) -> bool:
    """The few other words behind a verb, each only in its place."""
    after = clause.items[at + 1] if at + 1 < len(clause.items) else None
    if item.has(Tag.TO, Tag.ON) or item.text == "for":
        return after is not None and after.has(Tag.STAGE, Tag.RUN, Tag.ARTICLE, Tag.SUITE, Tag.MY, Tag.BOTH)
    if item.text == "of":
        return after is not None and after.has(Tag.RUN)
    if _from_what_is_there(clause, at):
        return True
    if item.has(Tag.AGAIN, Tag.RESUMED):
        return any(act.tag in _AGAIN_AFTER for act in clause.acts)
    if item.has(Tag.ARTICLE, Tag.MY):
        return after is not None
    if item.text in _WITH:
        return after is not None
    return item.text in _OBJECTS or item.text in _OK
