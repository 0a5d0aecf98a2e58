"""Slack's mark-up as text: made harmless, cut without breaking a token, read out in plain words.

Slack counts characters as UTF-16 code units; so does everything here that is called a limit.
"""

import re
import unicodedata
from collections.abc import Iterator

TOKEN = re.compile(r"<[^<>\n]+>|&(?:amp|lt|gt);|```")
FENCE = "```"
_MENTION = re.compile(r"<([^<>\n]+)>")
_STYLES = tuple(re.compile(rf"(?<![\w{mark}]){mark}([^{mark}\n]+){mark}(?![\w{mark}])") for mark in (r"\*", "_", "~"))
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_JOINED = "\u200d\ufe0f"  # these bind a character to the one before


def clean(text: str) -> str:
    """Without half surrogates, control characters and what turns the direction of writing."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    lines = whole.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    return _UNSEEN.sub("", lines)


def units(text: str) -> int:
    """Length as Slack counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def clip(text: str, limit: int, mark: str = "…") -> str:
    """At most `limit` units, `mark` included where something was left out."""
    if units(text) <= limit:
        return text
    return text[: _cut(text, max(limit - units(mark), 0))].rstrip() + mark


def split(text: str, limit: int) -> Iterator[str]:
    """Pieces of at most `limit` units that make up the text; a code fence is closed and opened again.

    Blank space at the seams is dropped.
    """
    room = limit - 2 * len(FENCE) - 2
    fenced = False
    while text.strip():
        head = text if units(text) <= room else text[: _cut(text, room, seams=True)]
        text = text[len(head) :]
        piece = FENCE + "\n" + head.strip("\n") if fenced else head.strip("\n")
        fenced = piece.count(FENCE) % 2 == 1
        if fenced:
            piece += "\n" + FENCE
        if piece.strip():
            yield piece
        text = text.lstrip("\n")


def plain(text: str) -> str:
    """What a reader would see: mentions by name, links with their address, no marks, no escapes."""
    parts = _CODE.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = _MENTION.sub(_spoken, parts[i])
        for style in _STYLES:
            parts[i] = style.sub(r"\1", parts[i])
    joined = "".join(part.strip("`") if i % 2 else part for i, part in enumerate(parts))
    return joined.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _spoken(token: re.Match[str]) -> str:
    body, _, label = token[1].partition("|")
    if body.startswith(("@", "#")):
        return body[0] + (label or body[1:]).lstrip("@#")
    if body.startswith("!date"):
        return label
    if body.startswith("!"):
        return "@" + (label or body[1:].removeprefix("subteam^")).lstrip("@")
    return f"{label} ({body})" if label and label != body else body


def _cut(text: str, limit: int, seams: bool = False) -> int:
    """An index below `limit` units, outside tokens and joined characters; at a line's or word's end if `seams`.

    At least 1, so that splitting ends.
    """
    index = limit
    if not text.isascii():
        index = len(text.encode("utf-16-le", "surrogatepass")[: 2 * limit].decode("utf-16-le", "ignore"))
    if seams:
        line, word = text.rfind("\n", index // 2, index), text.rfind(" ", index // 2, index)
        if (seam := line if line > 0 else word) > 0:
            index = seam + 1
    for token in TOKEN.finditer(text):
        if token.start() >= index:
            break
        if token.end() > index and token.start() > 0:
            index = token.start()
    for _ in range(16):
        if 1 < index < len(text) and _binds(text[index - 1], text[index]):
            index -= 1
    return max(index, 1)


def _binds(before: str, after: str) -> bool:
    return after in _JOINED or before == "\u200d" or unicodedata.combining(after) > 0
