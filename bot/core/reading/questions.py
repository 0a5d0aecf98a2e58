"""Whether a clause has the form of a question, with or without its mark."""

from __future__ import annotations

from collections.abc import Sequence

from bot.core.reading.acts import ASKED, rhetorical
from bot.core.reading.clauses import Clause
from bot.core.reading.items import Item
from bot.core.reading.tags import Tag

_SKIPPED = (Tag.POLITE, Tag.ADDRESS, Tag.FILLER, Tag.BOT, Tag.AND, Tag.RUN, Tag.BUT, Tag.PRAISE)
_INVERTED = frozenset({"is", "are", "was", "were", "does", "did", "has", "have", "is there"})
_PARTICLES = frozenset({"吗", "么", "か", "ですか", "ますか"})


def asks(clause: Clause) -> bool:
    """It opens with who/why, "should we" or "is it", or ends with "done yet"."""
    items = clause.items
    at = next((i for i, item in enumerate(items) if not item.has(*_SKIPPED, Tag.MARK) or item.has(Tag.MODAL)), None)
    if at is None:
        return False
    return (
        items[at].has(Tag.WH, Tag.MODAL)
        or any(item.text in _PARTICLES for item in items)
        or (items[at].text in _INVERTED and not _told(items, at))
        or _yet(clause)
        or any(rhetorical(items, i) for i, item in enumerate(items[:4]) if item.has(Tag.NOT))
    )


def _told(items: Sequence[Item], at: int) -> bool:
    """ "r14 is good" has its subject before the verb; "was just a blip" and "was my mistake" leave it out."""
    after = items[at + 1] if at + 1 < len(items) else None
    if after is None:
        return False
    named = at > 0 and items[at - 1].has(Tag.RUN) and after.text not in ASKED
    return named or after.has(Tag.ONLY, Tag.MY) or after.text in ("a", "an")


def _yet(clause: Clause) -> bool:
    """ "done yet", "extraction finished yet"."""
    ends = [item for item in clause.items if not item.has(Tag.MARK, Tag.POLITE, Tag.ADDRESS)]
    return bool(clause.claims) and ends[-1].text == "yet" and not any(item.has(Tag.NOT, Tag.NO) for item in ends)
