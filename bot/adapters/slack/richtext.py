"""Slack's mark-up where a block takes none: as rich text elements, or as plain words."""

import re
from typing import Any

from bot.core.mrkdwn import TOKEN, clip, plain

Json = dict[str, Any]
_DATE = re.compile(r"<!date\^(\d+)\^([^|^>]+)[^|>]*\|([^>]*)>")
_USER = re.compile(r"<@([UW][A-Z0-9]+)[^>]*>")
_GROUP = re.compile(r"<!subteam\^(S[A-Z0-9]+)[^>]*>")
_LINK = re.compile(r"<(https?://[^|>]+)\|?([^>]*)>")


def rich_text(text: str, limit: int) -> Json:
    """A rich_text block of one section: mentions, dates and links live, the rest as plain words."""
    text, leaves, end = clip(text, limit), [], 0
    for token in TOKEN.finditer(text):
        if leaf := _leaf(token[0]):
            leaves += [*_words(text[end : token.start()]), leaf]
            end = token.end()
    leaves += _words(text[end:])
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": leaves or _words("–")}]}


def plain_text(text: str, limit: int) -> Json:
    """A plain_text object, never empty."""
    return {"type": "plain_text", "text": clip(plain(text), limit) or "–", "emoji": True}


def is_rich(text: str) -> bool:
    """Whether anything in it is lost when it is said in plain words."""
    return any(_leaf(token[0]) for token in TOKEN.finditer(text))


def _words(text: str) -> list[Json]:
    words = plain(text)
    return [{"type": "text", "text": words}] if words else []


def _leaf(token: str) -> Json | None:
    if date := _DATE.fullmatch(token):
        return {"type": "date", "timestamp": int(date[1]), "format": date[2], "fallback": plain(date[3])}
    if user := _USER.fullmatch(token):
        return {"type": "user", "user_id": user[1]}
    if group := _GROUP.fullmatch(token):
        return {"type": "usergroup", "usergroup_id": group[1]}
    if link := _LINK.fullmatch(token):
        return {"type": "link", "url": plain(link[1]), **({"text": plain(link[2])} if link[2] else {})}
    return None
