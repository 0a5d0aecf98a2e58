"""Tokens to items: every word gets the classes it belongs to, or UNKNOWN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.core.reading.emoji import classify
from bot.core.reading.fuzzy import closest, squeeze
from bot.core.reading.languages import korean_ending
from bot.core.reading.names import RUN_ID, Names
from bot.core.reading.tags import Tag
from bot.core.reading.tokens import MAX_TOKENS, Token
from bot.core.reading.vocabulary import (
    ACTING,
    ACTING_SLIPS,
    BASE,
    HOLDING_SLIPS,
    ORDERING,
    ORDINARY,
    SHOWING_SLIPS,
    Entry,
    cut_han,
)

_PLAIN = {"bot": Tag.BOT, "person": Tag.PERSON, "link": Tag.LINK}
_MAX_SLIPS = 12  # unknown words looked up by slip; a longer message has no order in it anyway


@dataclass(frozen=True)
class Item:
    """One understood stretch of text. guessed: read through a slip of the fingers. spaced: as Token.spaced."""

    tags: frozenset[Tag]
    text: str
    value: object = None
    guessed: bool = False
    spaced: bool = True

    def has(self, *tags: Tag) -> bool:
        """Whether it belongs to any of these classes."""
        return not self.tags.isdisjoint(tags)

    def is_mark(self, *marks: str) -> bool:
        """Whether it is one of these punctuation marks ("\\n" for a line break)."""
        return Tag.MARK in self.tags and self.text in marks


def cut_words(tokens: Sequence[Token], names: Names) -> list[Token]:
    """The tokens, with Chinese and Japanese cut into words, and "extraction's" into two."""
    return _cut_is(_cut_scripts(tokens), names)


def classify_tokens(tokens: Sequence[Token], names: Names) -> list[Item]:
    """Read tokens left to right, the longest known form first; a name of this moment wins a tie."""
    words = [token.text if token.kind in ("word", "number") else "\0" for token in tokens]
    items: list[Item] = []
    slips = 0
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind not in ("word", "number"):
            items.append(_plain(token))
            at += 1
            continue
        size, entry = _look_up(words, at, names)
        if entry is not None:
            items.append(Item(entry.tags, " ".join(words[at : at + size]), entry.value, spaced=token.spaced))
            at += size
            continue
        slips += token.kind == "word"
        items.append(_spell(token, names, slips <= _MAX_SLIPS))
        at += 1
    return _join_run_numbers(items)


def _cut_scripts(tokens: Sequence[Token]) -> list[Token]:
    out: list[Token] = []
    for token in tokens:
        if len(out) >= MAX_TOKENS:
            break
        if token.kind == "word" and "\u3040" <= token.text[0] <= "\u9fff":
            out.extend(Token(kind="word", text=word, spaced=False) for word in cut_han(token.text, MAX_TOKENS))
        else:
            out.append(token)
    return out


def _cut_is(tokens: Sequence[Token], names: Names) -> list[Token]:
    """ "extraction's" is a name and an "is", where it is no word of its own."""
    out: list[Token] = []
    for token in tokens:
        stem = token.text.removesuffix("'s")
        known = stem in BASE.longest or stem in names.vocabulary.longest
        if token.kind == "word" and stem != token.text and known and token.text not in BASE.longest:
            out += [replace(token, text=stem), Token(kind="word", text="'s", spaced=False)]
        else:
            out.append(token)
    return out


def _plain(token: Token) -> Item:
    if token.kind == "emoji":
        return Item(frozenset({classify(token.text)}), token.text, "emoji")
    if token.kind == "break":
        return Item(frozenset({Tag.MARK}), "\n")
    if token.text == "^c":
        return Item(frozenset({Tag.ODD_KILL}), token.text)
    if token.text == "&":
        return Item(frozenset({Tag.AND}), token.text)
    return Item(frozenset({_PLAIN.get(token.kind, Tag.MARK)}), token.text, spaced=token.spaced)


def _look_up(words: list[str], at: int, names: Names) -> tuple[int, Entry | None]:
    limit = 0
    while at + limit < len(words) and limit < 7 and words[at + limit] != "\0":
        limit += 1
    base = BASE.match(words, at, limit)
    named = names.vocabulary.match(words, at, limit)
    if base and named and base[0] == named[0]:
        return base[0], Entry(base[1].tags | named[1].tags, named[1].value)
    if base and (not named or base[0] > named[0]):
        return base
    return named or (1, None)


def _spell(token: Token, names: Names, try_slips: bool) -> Item:
    """An unlisted word: a number, a run id, a drawn-out or misspelt word, or unknown."""
    word = token.text
    if RUN_ID.match(word):
        return Item(frozenset({Tag.RUN}), word, word)
    if token.kind == "number":
        return Item(frozenset({Tag.ACK} if word == "+1" else {Tag.NUMBER}), word, spaced=token.spaced)
    if "\uac00" <= word[0] <= "\ud7a3":
        return _inflected(word)
    short = squeeze(word)
    if short is not None and (entry := BASE.entries.get((short,))):
        drawn = frozenset({Tag.HYPE}) if entry.tags & ACTING else entry.tags
        return Item(drawn, word, entry.value, guessed=True)
    if try_slips and word not in ORDINARY and word.isascii():
        near = [slips.get(word[0], ()) for slips in (HOLDING_SLIPS, SHOWING_SLIPS, ACTING_SLIPS)]
        meant = closest(word, *near) or names.slip(word)
        if meant is not None:
            entry = BASE.entries.get((meant,)) or names.vocabulary.entries[(meant,)]
            return Item(entry.tags, meant, entry.value, guessed=True)
    return Item(frozenset({Tag.UNKNOWN}), word, spaced=token.spaced)


def _inflected(word: str) -> Item:
    """A Korean word by its stem of two letters or more: an ending may turn an order into a question."""
    stems = ((word[:size], word[size:]) for size in range(len(word) - 1, 1, -1))
    for stem, ending in stems:
        if (entry := BASE.entries.get((stem,))) and entry.tags & (ORDERING | {Tag.FILLER}):
            return Item(korean_ending(entry.tags, ending), word)
    return Item(frozenset({Tag.UNKNOWN}), word)


def _join_run_numbers(items: list[Item]) -> list[Item]:
    """ "run 12", "run #12" and "#12" name run r12."""
    out: list[Item] = []
    for item in items:
        if item.has(Tag.NUMBER) and item.text.isdecimal() and out:
            hashed = out[-1].is_mark("#")
            before = out[-2] if hashed and len(out) > 1 else out[-1]
            run_word = before.text in ("run", "runs") and before.has(Tag.BEGIN, Tag.VIEW, Tag.PAST)
            if hashed or run_word:
                del out[-(hashed + run_word) :]
                out.append(Item(frozenset({Tag.RUN}), f"r{int(item.text)}", f"r{int(item.text)}"))
                continue
        out.append(item)
    return out
