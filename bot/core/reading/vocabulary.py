"""The word classes compiled for look-up: form to tags, longest form first, and the words slips may hit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.core.reading import languages, lexicon, views
from bot.core.reading.tags import Tag

ACTING = frozenset(
    {
        Tag.PROCEED, Tag.LGTM, Tag.YES, Tag.BEGIN, Tag.DO_STAGE, Tag.RESUME, Tag.RETRY, Tag.FRESH, Tag.CANCEL,
        Tag.NUKE, Tag.STAGE, Tag.EXTEND, Tag.CONFIRM, Tag.SKIP, Tag.WAIVE,
    }
)  # fmt: skip
ORDERING = frozenset({Tag.PROCEED, Tag.BEGIN, Tag.RETRY, Tag.CANCEL, Tag.STOP, Tag.HOLD})
_HOLDING_SLIPS = (Tag.HOLD, Tag.STOP, Tag.NOT)
_SHOWING_SLIPS = (Tag.VIEW, Tag.SHOW, Tag.METRIC, Tag.POLITE, Tag.LATER, Tag.DONE)
_ACTING_SLIPS = (Tag.PROCEED, Tag.BEGIN, Tag.RESUME, Tag.RETRY, Tag.CANCEL)
_HAN_FIRST = "\u3040"


@dataclass(frozen=True)
class Entry:
    """What a form means: its classes, and the view, metric or name it stands for."""

    tags: frozenset[Tag]
    value: object = None


Phrase = tuple[str, ...]


@dataclass
class Vocabulary:
    """Forms by their words. `longest` bounds how many words a form that begins with a given word has."""

    entries: dict[Phrase, Entry] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)

    def add(self, form: str, tags: frozenset[Tag], value: object = None) -> None:
        """Add one form; a second class for the same form joins the first."""
        phrase = tuple(form.split())
        old = self.entries.get(phrase)
        if old is not None:
            tags, value = tags | old.tags, old.value if old.value is not None else value
        self.entries[phrase] = Entry(tags, value)
        self.longest[phrase[0]] = max(len(phrase), self.longest.get(phrase[0], 0))

    def match(self, words: list[str], start: int, limit: int) -> tuple[int, Entry] | None:
        """The longest form that stands at `start` within `limit` words: its length and meaning."""
        for size in range(min(self.longest.get(words[start], 0), limit), 0, -1):
            entry = self.entries.get(tuple(words[start : start + size]))
            if entry is not None:
                return size, entry
        return None


def _forms(text: str) -> list[str]:
    return [" ".join(form.split()) for form in text.split("|") if form.strip()]


def _compile() -> Vocabulary:
    vocabulary = Vocabulary()
    groups: list[Mapping[Tag, str]] = [*lexicon.ALL, *languages.ALL]
    for group in groups:
        for tag, forms in group.items():
            for form in _forms(forms):
                vocabulary.add(form, frozenset({tag}))
                if tag is Tag.WH and form.endswith("'s"):
                    vocabulary.add(form.replace("'", ""), frozenset({tag}))  # "whens it finished"
    for table, tag in ((views.VIEWS, Tag.VIEW), (views.METRICS, Tag.METRIC), (languages.VIEWS, Tag.VIEW)):
        for name, forms in table.items():
            for form in _forms(forms):
                vocabulary.add(form, frozenset({tag}), name)
    for form in (" at", "in", "on", "to", "into", "and", "&", "then"):
        tag = {"at": Tag.AT, "in": Tag.IN, "on": Tag.ON, "to": Tag.TO, "into": Tag.TO}.get(form.strip(), Tag.AND)
        vocabulary.add(form, frozenset({tag}))
    return vocabulary


BASE = _compile()
ORDINARY = frozenset(word for phrase in BASE.entries for word in phrase) | frozenset(
    word for form in _forms(lexicon.CHATTER) for word in form.split()
)


def _slips(tags: tuple[Tag, ...]) -> dict[str, tuple[str, ...]]:
    by_letter: dict[str, list[str]] = defaultdict(list)
    for phrase, entry in BASE.entries.items():
        word = phrase[0]
        if len(phrase) == 1 and word.isascii() and word.isalpha() and entry.tags & set(tags):
            by_letter[word[0]].append(word)
    return {letter: tuple(words) for letter, words in by_letter.items()}


HOLDING_SLIPS = _slips(_HOLDING_SLIPS)
SHOWING_SLIPS = _slips(_SHOWING_SLIPS)
ACTING_SLIPS = _slips(_ACTING_SLIPS)
HAN_LONGEST = max(len(p[0]) for p in BASE.entries if len(p) == 1 and p[0][0] >= _HAN_FIRST)


def cut_han(run: str, limit: int) -> list[str]:
    """Cut a stretch of Chinese or Japanese into the longest known words, `limit` at most; the rest stays together."""
    words: list[str] = []
    rest = ""
    at = 0
    while at < len(run) and len(words) < limit:
        size = next(
            (n for n in range(min(HAN_LONGEST, len(run) - at), 0, -1) if (run[at : at + n],) in BASE.entries), 0
        )
        if size == 0:
            rest += run[at]
            at += 1
            continue
        if rest:
            words.append(rest)
            rest = ""
        words.append(run[at : at + size])
        at += size
    return [*words, rest] if rest else words
