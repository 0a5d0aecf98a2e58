"""Politeness read whole, as one word that orders nothing: thanks and what for, apologies, wishes, sign-offs, greetings.

Its words mean other things elsewhere ("thank you very much", "have a nice evening", "sorry for the wait"), so each form
is read only where it begins a thought, or stands right behind an order, and only up to where that thought ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.core.reading.acts import ORDER_TAGS
from bot.core.reading.items import Item
from bot.core.reading.tags import Tag

_THANKING = ("thank", "thx", "ty", "many thanks", "cheers", "cool thanks", "tia", "danke", "merci", "gracias")
_APOLOGIES = frozenset({"sorry", "apologies"})
_BOTHERING = frozenset({"keep", "bother", "disturb", "interrupt", "trouble", "nag", "have kept", "make"})
_DEGREES = frozenset(
    {"very much", "so much", "so very much", "ever so much", "a lot", "a bunch", "a ton", "a million", "very kindly",
     "tons", "loads", "heaps", "again", "once again", "in advance", "everyone", "all", "indeed", "kindly", "beforehand"}
)  # fmt: skip
_GIVEN = (
    Tag.ARTICLE, Tag.MY, Tag.UNKNOWN, Tag.NOUN, Tag.VIEW, Tag.PRAISE, Tag.GOOD, Tag.REVIEW, Tag.CHECK, Tag.STAGE,
    Tag.FILL, Tag.POLITE, Tag.ON, Tag.IN, Tag.SUBJECT, Tag.SET,
)  # fmt: skip
_NAMED = (Tag.REPORT, Tag.HOLD, Tag.LATER, Tag.SHOW, Tag.MODAL)  # only as a noun: "the message", "the wait"
_GOES_ON = frozenset({"this", "that", "it", "waiting", "running", "extracting", "training", "benchmarking", "being"})
_STRANGE = 3
_DAYS = frozenset(
    {"day", "evening", "morning", "afternoon", "night", "weekend", "week", "time", "one", "lunch", "dinner", "break",
     "holiday", "holidays", "vacation", "trip", "rest", "today", "new year"}
)  # fmt: skip
_PARTING = frozenset(
    {"bye", "bye bye", "cya", "gn", "good night", "good evening", "good morning", "see you", "goodbye"}
)
_UNTIL = (Tag.TIME, Tag.LATER)
_REGARDS = frozenset({"regards", "wishes", "greetings", "sincerely", "yours", "rgds"})
_WARMLY = frozenset({"best", "kind", "kindest", "warm", "warmest", "with", "many", "yours", "all", "the", "my"})
_APPRECIATING = frozenset({"appreciate", "appreciated", "appreciates", "grateful"})
_BESIDE_APPRECIATING = frozenset(
    {"i", "we", "i'd", "we'd", "would", "much", "greatly", "highly", "really", "very much", "very", "so", "do", "it",
     "that", "this", "your", "the", "help", "that's", "it's", "is", "i'm", "am", "are", "effort", "work", "patience"}
)  # fmt: skip
_PLACES = frozenset({"back", "here", "afk", "away", "late", "asleep", "busy", "offline", "online", "out", "around"})
_BEFORE_PLACE = frozenset(
    {"i", "i'm", "im", "am", "was", "just", "only", "now", "i've", "been", "only just", "got", "again"}
)
_AFTER_PLACE = frozenset({"now", "again", "online", "at", "my", "the", "desk", "office", "work", "a", "from", "in"})
_WISHING = frozenset({"have", "have a", "enjoy", "happy", "good", "nice", "great"})
_GREETING = frozenset({"morning", "afternoon", "evening"})
_BEGINNINGS = (
    _APOLOGIES | {"my", "so", "very", "be", "do", "if"} | _BEFORE_PLACE | _PLACES | _WISHING | _GREETING | _PARTING
    | _WARMLY | _REGARDS | _APPRECIATING | _BESIDE_APPRECIATING
)  # fmt: skip
_KINDLY = frozenset({"kind", "good", "nice", "lovely"})
_ENDS = (Tag.MARK, Tag.AND, Tag.BUT, Tag.BOT, Tag.POLITE, Tag.ADDRESS, Tag.FILLER, *ORDER_TAGS)
_OPENS = (Tag.MARK, Tag.AND, Tag.BUT, Tag.BOT, Tag.POLITE, Tag.ADDRESS, Tag.FILLER, Tag.PRAISE, Tag.GLUE)
_MARKS = frozenset({",", "\n", "-", "."})


def fold(items: list[Item]) -> list[Item]:
    """The items, each stretch of politeness in them as one."""
    out: list[Item] = []
    at = 0
    while at < len(items):
        begins = items[at].has(Tag.POLITE) or items[at].text in _BEGINNINGS
        size = next((found for form in _FORMS if (found := form(items, at, out))), 0) if begins else 0
        if size:
            text = " ".join(item.text for item in items[at : at + size] if not item.has(Tag.MARK))
            out.append(Item(frozenset({Tag.POLITE}), text))
        else:
            out.append(items[at])
        at += size or 1
    return out


def _ends(items: Sequence[Item], at: int) -> bool:
    return at >= len(items) or items[at].has(*_ENDS) or items[at].value == "emoji"


def _opens(before: Sequence[Item]) -> bool:
    """Whether a thought may begin here: at the start, behind a mark or another politeness."""
    return not before or before[-1].has(*_OPENS) or before[-1].value == "emoji"


def _is_last(items: Sequence[Item], at: int) -> bool:
    """Whether nothing else is said behind it, so that nothing can point back at the time it names."""
    return all(item.has(Tag.MARK, Tag.POLITE, Tag.ADDRESS) or item.value == "emoji" for item in items[at:])


def _follows(before: Sequence[Item]) -> bool:
    """Whether it begins a thought or stands right behind an order: "continue thanks a lot"."""
    return _opens(before) or before[-1].has(*ORDER_TAGS, Tag.STAGE, Tag.RUN, Tag.NOW)


def _thanks(items: Sequence[Item], at: int, before: Sequence[Item]) -> int:
    """ "thank you very much", "thanks for the detailed report", "many thanks in advance, everyone"."""
    if not (items[at].has(Tag.POLITE) and items[at].text.startswith(_THANKING)):
        return 0
    end = _past_degrees(items, at + 1)
    given = _past_given(items, end)
    if given > end:
        end = _past_degrees(items, given)
    return end - at if end > at + 1 and _ends(items, end) else 0


def _past_degrees(items: Sequence[Item], at: int) -> int:
    """Behind "very much", "a lot", "again": as many as there are."""
    while size := next((n for n in (3, 2, 1) if " ".join(i.text for i in items[at : at + n]) in _DEGREES), 0):
        at += size
    return at


def _past_given(items: Sequence[Item], at: int, word: str = "for") -> int:
    """Behind "for the quick update", "for waiting", or where it stood when it is no such thing."""
    if at >= len(items) or items[at].text != word:
        return at
    end = at + 1
    while end < len(items) and _is_given(items, end):
        end += 1
    strange = sum(item.has(Tag.UNKNOWN) for item in items[at:end])
    return end if end > at + 1 and strange <= _STRANGE and _closes(items, at + 1, end) else at


def _closes(items: Sequence[Item], start: int, end: int) -> bool:
    """Whether a mark ends it, or an order follows on a thing; other than "thanks for letting it continue"."""
    bare = end < len(items) and items[end].has(Tag.AND, Tag.BUT, *ORDER_TAGS)
    thing = items[start].has(Tag.ARTICLE, Tag.MY) and items[end - 1].has(Tag.NOUN, Tag.VIEW)
    return _ends(items, end) and (thing or not bare)


def _is_given(items: Sequence[Item], at: int) -> bool:
    item = items[at]
    named = items[at - 1].has(Tag.ARTICLE, Tag.MY, Tag.UNKNOWN) and item.has(*_NAMED)
    joins = item.has(Tag.AND) and at + 1 < len(items) and items[at + 1].has(Tag.ARTICLE, Tag.MY)
    plain = item.has(*_GIVEN) and not item.has(Tag.RUN, Tag.BAD)
    orders = item.has(*ORDER_TAGS) and not item.has(Tag.NOUN, Tag.STAGE, Tag.GOOD)
    return named or joins or item.text in _GOES_ON or (plain and not orders)


def _apology(items: Sequence[Item], at: int, before: Sequence[Item]) -> int:
    """ "sorry for the wait", "apologies for my late reply"."""
    start = at + (items[at].text in ("my", "so", "very"))
    if start >= len(items) or items[start].text not in _APOLOGIES or not _opens(before):
        return 0
    start += 1
    to = start + 1 < len(items) and items[start].has(Tag.TO) and items[start + 1].text in _BOTHERING
    end = _past_given(items, start, "to" if to else "for")
    if end > start:
        return end - at
    if items[start - 1].text == "apologies" and _ends(items, end):
        return end - at
    behind = start + (start < len(items) and items[start].is_mark(",", ".", "-"))
    told = _whereabouts(items, behind, ()) if behind < len(items) else 0
    return behind + told - at if told else 0


def _whereabouts(items: Sequence[Item], at: int, before: Sequence[Item]) -> int:
    """ "back now", "i was in a meeting", "just back from lunch": where the speaker is or was."""
    if not _opens(before) or any(item.text == "then" for item in items[at:]):  # "in a meeting, continue then"
        return 0
    end = at
    while end < len(items) and items[end].text in _BEFORE_PLACE:
        end += 1
    if end < len(items) and items[end].text in _PLACES:
        end += 1
    elif not (end > at and end < len(items) and items[end].has(Tag.IN, Tag.ON, Tag.AT)):
        return 0
    strange = 0
    while end < len(items) and strange < 2 and not _ends(items, end):
        if items[end].has(Tag.UNKNOWN):
            strange += 1
        elif items[end].text not in _AFTER_PLACE | _DAYS:
            break
        end += 1
    return end - at if _ends(items, end) else 0


def _wish(items: Sequence[Item], at: int, before: Sequence[Item]) -> int:
    """ "have a nice evening everyone", "enjoy your lunch", "happy holidays"."""
    if not _follows(before) or items[at].text not in _WISHING:
        return 0
    end = at + 1
    while end < len(items) and (
        items[end].has(Tag.ARTICLE, Tag.MY, Tag.PRAISE, Tag.GOOD) or items[end].text in ("fun",)
    ):
        end += 1
    if end >= len(items) or items[end].text not in _DAYS or (end == at + 1 and items[at].text == "have"):
        return 0
    end += 1
    while end < len(items) and (items[end].has(Tag.ADDRESS) or items[end].text in ("all", "both", "too", "there")):
        end += 1
    return end - at if _is_last(items, end) else 0


def _parting(items: Sequence[Item], at: int, before: Sequence[Item]) -> int:
    """ "good night", "see you tomorrow", "bye all"."""
    if not _follows(before) or items[at].text not in _PARTING:
        return 0
    end = at + 1
    while end < len(items) and (
        (items[at].text == "see you" and (items[end].has(*_UNTIL) or items[end].text in ("on", "then", "at", "around")))
        or items[end].has(Tag.ADDRESS)
        or items[end].text == "all"
    ):
        end += 1
    timed = any(item.has(*_UNTIL) for item in items[at:end])
    return end - at if (_is_last(items, end) if timed else _ends(items, end)) else 0


def _greeting(items: Sequence[Item], at: int, before: Sequence[Item]) -> int:
    """ "morning!" as the first thing that is said."""
    greets = not before and items[at].text in _GREETING
    return 1 if greets and at + 1 < len(items) and items[at + 1].is_mark("!") else 0


def _sign_off(items: Sequence[Item], at: int, before: Sequence[Item]) -> int:
    """ "best regards, tom"; a bare "best" or "thanks" only with a name on the last line."""
    if not _follows(before):
        return 0
    end = at
    while end < len(items) and items[end].text in _WARMLY:
        end += 1
    closed = end < len(items) and items[end].text in _REGARDS
    end += closed
    thanks = not closed and end == at and items[at].has(Tag.POLITE) and items[at].text.startswith(_THANKING)
    bare = not closed and end == at + 1 and items[at].text == "best"
    if not (closed or thanks or bare):
        return 0
    end += thanks
    named = _past_name(items, end, lines=thanks)
    return (named or (end if closed and _ends(items, end) else at)) - at


def _past_name(items: Sequence[Item], at: int, *, lines: bool) -> int:
    """Behind ", tom" at the end of the message; 0 without one. lines: only one on a line of its own."""
    end = at
    while end < len(items) and items[end].has(Tag.MARK) and items[end].text in _MARKS:
        end += 1
    marks = {item.text for item in items[at:end]}
    if end == at or (lines and "\n" not in marks):
        return 0
    while end < len(items) and items[end].has(Tag.UNKNOWN):
        end += 1
    name = items[end - 1].has(Tag.UNKNOWN)
    return end if name and end == len(items) and sum(i.has(Tag.UNKNOWN) for i in items[at:end]) <= 2 else 0


def _appreciation(items: Sequence[Item], at: int, before: Sequence[Item]) -> int:
    """ "much appreciated", "i really appreciate it"; other than "i would appreciate it if"."""
    if not _follows(before):
        return 0
    end = at
    while end < len(items) and items[end].text in _BESIDE_APPRECIATING | _APPRECIATING:
        end += 1
    end = _past_given(items, _past_degrees(items, end))
    said = any(item.text in _APPRECIATING for item in items[at:end])
    return end - at if said and _ends(items, end) else 0


def _kindness(items: Sequence[Item], at: int, before: Sequence[Item]) -> int:
    """ "be so kind and continue", "be so good as to continue", "do me a favour and continue"."""
    if not _opens(before):
        return 0
    words = [item.text for item in items[at : at + 6]]
    if words[:2] in (["be", "so"], ["be", "as"]) and len(words) > 3 and words[2] in _KINDLY:
        end = at + 3
    elif words[:2] == ["do", "me"] and len(words) > 4 and words[3] in ("favor", "favour"):
        end = at + 4
    elif words[:3] == ["if", "you", "please"]:
        return 3
    else:
        return 0
    start = end
    while end < len(items) and (items[end].text in ("as", "and", "to") or items[end].is_mark(",", ":")):
        end += 1
    return end - at if end > start and _ends(items, end) else 0


_Form = Callable[[Sequence[Item], int, Sequence[Item]], int]
_FORMS: tuple[_Form, ...] = (
    _sign_off, _thanks, _greeting, _apology, _whereabouts, _wish, _parting, _appreciation, _kindness,
)  # fmt: skip
