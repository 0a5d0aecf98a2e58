"""Slack text to plain lower-case text, with what was taken out noted as flags.

Letters are never folded into other letters: a look-alike from another script, a full-width or a
zalgo letter stays what it is, so that the word it stands in is unknown and starts nothing.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

MAX_CHARS = 800  # bounds the work; a longer message is read up to here and never acts

_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xFE0E, 0xFE0F, *range(0x2061, 0x2065)])
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_QUOTE_MARKS = {ord(c): "'" for c in "‘’‚‛ʼ′´＇"} | {ord(c): '"' for c in "“”„‟«»″「」『』＂"}
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-")
_SPACES = dict.fromkeys(map(ord, "\t\r\x0b\x0c\x85\xa0\u1680\u180e\u202f\u205f\u3000"), " ") | dict.fromkeys(
    range(0x2000, 0x200B), " "
)
_BREAKS = {0x2028: "\n", 0x2029: "\n"}
_BLANKS = _INVISIBLE | _SPACES | _BREAKS
_PUNCTUATION = {
    ord(a): b
    for a, b in zip(
        "，、。．！？；：（）％＝～…·•；¿¡", [*",,..!?;:()%=", " ", ". ", " ", " ", ";", "", ""], strict=True
    )
}
_ARROWS = dict.fromkeys(map(ord, "→⇒➡➜➔⟶↦▶►"), " > ")
_TABLE = _BLANKS | _QUOTE_MARKS | _DASHES | _PUNCTUATION | _ARROWS

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE = re.compile(r"`+[^`\n]*`+")
_STRUCK = re.compile(r"(?<![^\W_])(?<!~)~(?=\S)([^~\n]*\S)~(?![^\W_])(?!~)")
_LINK = re.compile(r"<(?:https?|mailto|tel|ftp):[^<>]*>|\b(?:https?://|www\.)[^\s<>]+")
_MENTION = re.compile(r"<(@|#|!)([^<>|\s]+)(?:\|[^<>]*)?>")
_MARKUP = re.compile(r"(?<![\w*_])[*_]+(?=[^\s*_])|(?<=[^\s*_])[*_]+(?![\w*_])|`+")
_WITH = re.compile(r"(?<!\w)[wW]/(?=\s|\d)")
_SIGNATURE = re.compile(
    r" *(?:sent|gesendet|envoyé|enviado) +(?:from|with|via|von|de|desde) +(?:my|meinem|mon|mi) +\w+(?:[^\w?]|:\w+:)*\Z",
    re.IGNORECASE,
)
# NFC itself would turn these into plain K and ";".
_SINGLETONS = {0x212A: "\ufffd", 0x037E: "?"}

# Private-use stand-ins, so that the tokeniser sees one character for what Slack wraps in <>.
BOT, PERSON, LINK = "\ue000", "\ue001", "\ue002"


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """Plain text and what had to be removed to get it."""

    text: str
    cased: str = ""  # the same with its capitals and mark-up, for paths
    quoted: bool = False  # a block quote was removed
    fenced: bool = False  # a code fence was removed
    struck: bool = False  # struck-out text was removed
    truncated: bool = False  # longer than MAX_CHARS
    disguised: bool = False  # direction marks: what is seen need not be what is read
    unaddressed: bool = False  # the bot's mention stands only in what was removed, in code, or in a longer id


def normalise(raw: str, bot_user: str | None, mentioned: bool) -> Cleaned:
    """Clean one message. `bot_user` tells the bot's mention from a person's; without it, a leading one is the bot's."""
    truncated = len(raw) > MAX_CHARS
    text = raw[:MAX_CHARS]
    disguised = bool(_DIRECTION.search(text))
    text = _DIRECTION.sub("", text).translate(_BLANKS)
    text, fences = _FENCE.subn("\n", text)
    text, struck = _STRUCK.subn(" ", text)
    text = _LINK.sub(f" {LINK} ", text)
    named = bot_user is not None and f"<@{bot_user}" in raw
    text = _replace_mentions(text, bot_user, mentioned)
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    text, quoted = _drop_quotes(text)
    spoken = text
    text = unicodedata.normalize("NFC", text.translate(_SINGLETONS)).translate(_TABLE)
    cased = text.replace("`", "").strip()
    text = _WITH.sub("with ", _MARKUP.sub("", text))
    return Cleaned(
        text=text.lower(),
        cased=cased,
        quoted=quoted,
        fenced=fences > 0,
        struck=struck > 0,
        truncated=truncated,
        disguised=disguised,
        unaddressed=named and BOT not in _CODE.sub("", spoken),
    )


def _replace_mentions(text: str, bot_user: str | None, mentioned: bool) -> str:
    first_is_bot = mentioned and bot_user is None

    def stand_in(match: re.Match[str]) -> str:
        nonlocal first_is_bot
        if match[1] == "@" and (match[2] == bot_user or first_is_bot):
            first_is_bot = False
            return f" {BOT} "
        return f" {LINK} " if match[1] == "#" else f" {PERSON} "

    return _MENTION.sub(stand_in, text)


def _drop_quotes(text: str) -> tuple[str, bool]:
    """Remove `>` lines, everything from `>>>` on, and a phone's signature."""
    kept: list[str] = []
    quoted = False
    for line in re.split("[\n\r\u2028\u2029\x0b\x0c\x85]", text):
        start = line.lstrip(" \t\xa0\u3000" + BOT)
        if start.startswith(">>>"):
            return "\n".join(kept), True
        if start.startswith((">", "\uff1e")):
            quoted = True
        elif not _SIGNATURE.match(line):
            kept.append(line)
    return "\n".join(kept), quoted
