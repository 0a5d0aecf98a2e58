"""How close a misspelt word is to a known one, by the kinds of slip that fingers make.

Towards HOLD and STATUS a slip is forgiven from three letters on; towards anything that acts only from
five letters on, and short action words only for swapped or doubled letters, since a replaced letter
makes another word of them ("lunch", "about", "beach"). Run ids are never matched this way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_DRAWN = re.compile(r"(.)\1{2,}")

_FINGERS = frozenset({"swapped", "doubled", "undoubled"})  # slips that seldom make another word
SAFE_FROM, ACT_FROM, LONG_FROM = 3, 5, 7


def slip(typed: str, meant: str) -> str | None:
    """The one slip of Damerau's four that turns `meant` into `typed`, `doubled` told apart; None when further off.

    Both words must begin alike: fingers rarely miss the first letter, and "told" is not "hold".
    """
    if typed == meant or abs(len(typed) - len(meant)) > 1 or not typed or typed[0] != meant[:1]:
        return None
    at = next((i for i, (a, b) in enumerate(zip(typed, meant, strict=False)) if a != b), min(len(typed), len(meant)))
    if len(typed) == len(meant):
        if typed[at + 1 :] == meant[at + 1 :]:
            return "replaced"
        swapped = typed[at : at + 2] == meant[at : at + 2][::-1]
        return "swapped" if swapped and typed[at + 2 :] == meant[at + 2 :] else None
    if len(typed) > len(meant):
        if typed[at + 1 :] != meant[at:]:
            return None
        return "doubled" if typed[at] == typed[at - 1] else "added"
    if typed[at:] != meant[at + 1 :]:
        return None
    return "undoubled" if meant[at] == meant[at - 1] else "dropped"


def is_holding_slip(typed: str, meant: str) -> bool:
    """Whether `typed` may be read as `meant`, which holds: nearly free."""
    if min(len(typed), len(meant)) < SAFE_FROM:
        return False
    kind = slip(typed, meant)
    return kind is not None and (kind != "replaced" or len(typed) >= ACT_FROM)


def is_showing_slip(typed: str, meant: str) -> bool:
    """Whether `typed` may be read as `meant`, which only shows or says something."""
    if min(len(typed), len(meant)) < SAFE_FROM:
        return False
    kind = slip(typed, meant)
    return kind is not None and (kind in _FINGERS or len(meant) >= ACT_FROM)


def is_acting_slip(typed: str, meant: str) -> bool:
    """Whether `typed` may be read as the word `meant`, which can change what runs."""
    if min(len(typed), len(meant)) < ACT_FROM:
        return False
    kind = slip(typed, meant)
    return kind is not None and (len(meant) >= LONG_FROM or kind in _FINGERS)


def closest(typed: str, holding: Iterable[str], showing: Iterable[str], acting: Iterable[str]) -> str | None:
    """The known word that `typed` is one slip away from; holding wins over showing, and that over acting."""
    if not typed.isascii() or not typed.isalpha():
        return None
    for words, near in ((holding, is_holding_slip), (showing, is_showing_slip), (acting, is_acting_slip)):
        for word in words:
            if near(typed, word):
                return word
    return None


def squeeze(word: str) -> str | None:
    """A drawn-out word cut back ("nooo" to "no"); None when no letter stands three times in a row."""
    short = _DRAWN.sub(r"\1", word)
    return short if short != word else None
