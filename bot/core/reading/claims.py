"""What is said to be so: "extraction is done", "loss is 1.2", "2 TB free"."""

from __future__ import annotations

from collections.abc import Sequence

from bot.core.reading.acts import rhetorical
from bot.core.reading.binding import TURNED
from bot.core.reading.intent import Claim
from bot.core.reading.items import Item
from bot.core.reading.tags import Tag

_BYTES = frozenset({"tb", "gb", "mb", "tib", "gib", "mib"})
_MADE_FREE = frozenset(
    {"freed", "freed up", "cleared", "removed", "deleted", "released", "recovered", "cleaned", "cleaned up"}
)
_LEFT_OVER = frozenset({"free", "left", "available", "remaining"})
_BETWEEN = (
    Tag.AUX, Tag.GLUE, Tag.FILL, Tag.REVIEW, Tag.NOUN, Tag.ARTICLE, Tag.HEDGE, Tag.NOT, Tag.RUN,
)  # fmt: skip


def find_claims(items: Sequence[Item], used: set[int]) -> tuple[list[Claim], set[int], bool]:
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
        elif not item.has(*_BETWEEN) and item.text not in TURNED:
            stage_at = None
    return claims, claimed, not_done


def measured(items: Sequence[Item]) -> set[int]:
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
    after = [item.text for item in items[at + 1 : at + 3]]
    told = any(item.has(Tag.AUX) or item.text in _MADE_FREE for item in items[:at]) or not _LEFT_OVER.isdisjoint(after)
    return told and (unit or (after or [""])[0]) in _BYTES


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
