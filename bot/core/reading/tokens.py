"""Plain text to tokens: words, numbers, emoji, marks. Knows no vocabulary but how things are spelled."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from bot.core.reading.normalise import BOT, LINK, PERSON

MAX_TOKENS = 80  # bounds the work after MAX_CHARS has

NUMBER = r"[+-]?(?:\d+(?:,\d+)*(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?"
_EMOJI_CHAR = "\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\u3297\u3299\U0001f000-\U0001faff\u203c\u2049\u2139"
_SKIN_TONE = re.compile("[\U0001f3fb-\U0001f3ff]|:skin-tone-\\d:")
_TOKEN = re.compile(
    rf"""
    (?P<emoji> :[a-z0-9_+'-]*[a-z+][a-z0-9_+'-]*: | :\+1: | :-1: | :100: | [:;]-?[()/|\\dp](?!\w) | [{_EMOJI_CHAR}] )
  | (?P<chunk> (?:(?<![\w.])[+-])?[^\W_](?:[\w'.+/-]*\w)? (?:,\d+)* (?:[\w.+-]*\w)? %? | \.\d[\w-]*)
  | (?P<break> \n+ )
  | (?P<mark> => | -> | == | \^c\b | [^\s\w] | _ )
    """,
    re.VERBOSE,
)
_HAN = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_SCRIPTS = re.compile(f"[{_HAN}]+|[^{_HAN}]+")
_NUMERIC = re.compile(rf"(?:{NUMBER}|\d+(?:-\d+)+)(?:[a-z%]{{0,7}})?\Z", re.ASCII)
_SPAN = re.compile(rf"({NUMBER})(\.\.+|-)({NUMBER})\Z", re.ASCII)  # "1e-4-3e-4", "1e-4..3e-4"
_IDENTIFIER = re.compile(r"[a-z]\w*_\w+\Z", re.ASCII)  # "wd_magic=7" sets one name, not two words
_PIECES = re.compile(r"[^\W_]+(?:'[^\W_]+)*|\d+", re.UNICODE)


@dataclass(frozen=True, kw_only=True)
class Token:
    """kind: word, number, emoji, bot, person, link, break or mark. spaced: white space stood before it."""

    kind: str
    text: str
    spaced: bool = True


def tokenise(text: str, known: Collection[str]) -> list[Token]:
    """Cut text into tokens. `known` names (run names, hosts, suites) may hold hyphens and dots and stay whole."""
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(_SKIN_TONE.sub("", text)):
        spaced = match.start() > end or end == 0
        end = match.end()
        tokens.extend(_cut(match, spaced, known))
        if len(tokens) >= MAX_TOKENS:
            break
    return tokens[:MAX_TOKENS]


def _cut(match: re.Match[str], spaced: bool, known: Collection[str]) -> list[Token]:
    text = match[0]
    if text in (BOT, PERSON, LINK):
        return [Token(kind={BOT: "bot", PERSON: "person", LINK: "link"}[text], text=text, spaced=spaced)]
    if match["emoji"]:
        return [Token(kind="emoji", text=text.strip(":") if text[-1] == ":" else text, spaced=spaced)]
    if match["chunk"]:
        if _IDENTIFIER.match(text) and match.string[match.end() :].lstrip().startswith("="):
            return [Token(kind="word", text=text, spaced=spaced)]
        return _cut_chunk(text, spaced, known)
    return [Token(kind="break" if match["break"] else "mark", text=text, spaced=spaced)]


def _cut_chunk(chunk: str, spaced: bool, known: Collection[str]) -> list[Token]:
    if chunk in known:
        return [Token(kind="word", text=chunk, spaced=spaced)]
    if _NUMERIC.match(chunk):
        return [Token(kind="number", text=chunk, spaced=spaced)]
    if (span := _SPAN.match(chunk)) is not None:
        kinds = ("number", "mark", "number")
        return [
            Token(kind=k, text=t, spaced=spaced and k == "number") for k, t in zip(kinds, span.groups(), strict=True)
        ]
    if chunk[0] in "+-":
        return [Token(kind="word", text=chunk, spaced=spaced)]
    pieces: list[Token] = []
    for piece in _PIECES.findall(chunk.rstrip("%")):
        for part in _SCRIPTS.findall(piece):
            kind = "number" if part.isdecimal() and part.isascii() else "word"
            pieces.append(Token(kind=kind, text=part, spaced=spaced and not pieces))
    return pieces
