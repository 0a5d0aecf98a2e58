"""Cards as Block Kit, within every limit of Slack's. Pure; imports no Slack package.

Slack also refuses a message whose blocks are about 13,200 characters in all (`msg_blocks_too_long`,
undocumented; an empty divider counts too), so the JSON itself is measured.
"""

import html
import json
import re
from collections import Counter
from typing import NamedTuple

from bot.adapters.slack.parts import Json, draw_buttons, draw_part, note, section
from bot.adapters.slack.richtext import plain_text
from bot.core.cards import Buttons, Card, Part, Text
from bot.core.mrkdwn import clean, clip, split, units

MAX_BLOCKS = 50
MAX_SECTION = 2_900
MAX_HEADER = 150
MAX_TEXT_BYTES = 3_900  # chat.update refuses 4,000 bytes of escaped text
BUDGET = 12_000
PLAIN_BUDGET = 9_000
_ID = re.compile(r"[UWS][A-Z0-9]+")


class Drawn(NamedTuple):
    """A card ready to send. `fallback_blocks` are for when `blocks` are refused."""

    text: str
    blocks: list[Json]
    fallback_blocks: list[Json]


def render(card: Card) -> Drawn:
    """Draw a card; what does not fit is left out, and the message says so."""
    told = " ".join(_mention(who) for who in card.mentions if _ID.fullmatch(who))
    text = clean(card.fallback) if told in card.fallback else f"{told} {clean(card.fallback)}"
    return Drawn(
        _shorten(text.strip() or clean(card.title) or "…"),
        _draw(card, told, BUDGET),
        _draw(card, told, PLAIN_BUDGET, plainly=True),
    )


def _mention(who: str) -> str:
    return f"<!subteam^{who}>" if who.startswith("S") else f"<@{who}>"


def _shorten(text: str) -> str:
    """Slack counts the bytes of the text after escaping it once more."""
    short, limit = text, MAX_TEXT_BYTES
    while len(html.escape(short, quote=False).encode()) > MAX_TEXT_BYTES:
        limit = limit * 3 // 4
        short = clip(text, limit)
    return short


def _draw(card: Card, told: str, budget: int, plainly: bool = False) -> list[Json]:
    parts = _with_mentions(card, told)
    drawn = _draw_fixed(parts, plainly)
    texts = {i: clean(part.text) for i, part in enumerate(parts) if isinstance(part, Text)}
    left = budget - sum(size(block) for blocks in drawn.values() for block in blocks) - 300
    shares = share([units(t) for t in texts.values()], max(left - 120 * len(texts), 0))
    for (i, text), room in zip(texts.items(), shares, strict=True):
        drawn[i] = _draw_text(text, room)
    blocks = [block for i in range(len(parts)) for block in drawn[i]]
    if title := clip(clean(card.title), MAX_HEADER):
        blocks.insert(
            0, section(f"*{title}*") if plainly else {"type": "header", "text": plain_text(title, MAX_HEADER)}
        )
    return fit(blocks, budget)


def _with_mentions(card: Card, told: str) -> list[Part]:
    """Whoever is told stands at the head of the first paragraph, if no paragraph names him."""
    parts = list(card.parts) or [Text(text=card.fallback)]
    if not told or any(isinstance(p, Text) and told in p.text for p in parts):
        return parts
    for i, part in enumerate(parts):
        if isinstance(part, Text) and not part.text.startswith("```"):
            parts[i] = Text(text=f"{told} {part.text}")
            return parts
    return [Text(text=told), *parts]


def _draw_fixed(parts: list[Part], plainly: bool) -> dict[int, list[Json]]:
    """Everything but paragraphs. Slack takes one table a message; further ones are drawn as text."""
    seen: Counter[type] = Counter()
    actions: Counter[str] = Counter()
    drawn = {}
    for i, part in enumerate(parts):
        if isinstance(part, Buttons):
            drawn[i] = draw_buttons(part, actions)
        elif not isinstance(part, Text):
            drawn[i] = draw_part(part, plainly=plainly or seen[type(part)] > 0)
            seen[type(part)] += 1
    return drawn


def _draw_text(text: str, room: int) -> list[Json]:
    missing = units(text) - room
    pieces = list(split(clip(text, room, "") if missing > 0 else text, MAX_SECTION))
    blocks = [section(piece) for piece in pieces]
    if missing > 0:
        blocks.append(note(f"… {missing:,} of {units(text):,} characters left out here."))
    return blocks


def share(wanted: list[int], total: int) -> list[int]:
    """Room for each so that the sum is at most `total` and only the longest are cut."""
    given, left = [0] * len(wanted), total
    for rank, i in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        given[i] = min(wanted[i], left // (len(wanted) - rank))
        left -= given[i]
    return given


def fit(blocks: list[Json], budget: int) -> list[Json]:
    """At most 50 blocks within the budget: buttons stay as long as they can, then what comes first."""
    if len(blocks) <= MAX_BLOCKS and sum(map(size, blocks)) <= budget:
        return blocks
    rest = note("… This is not all: the rest does not fit into one message.")
    left = budget - size(rest)
    kept: dict[int, Json] = {}
    order = sorted(range(len(blocks)), key=lambda i: (blocks[i]["type"] != "actions", i))
    for i in order:
        if len(kept) < MAX_BLOCKS - 1 and size(blocks[i]) <= left:
            kept[i] = blocks[i]
            left -= size(blocks[i])
    cut = next((i for i in range(len(blocks)) if i not in kept), len(blocks))
    return [*(kept[i] for i in sorted(kept) if i < cut), rest, *(kept[i] for i in sorted(kept) if i > cut)]


def size(block: Json) -> int:
    """About what Slack counts: the JSON, the block id that it adds, `verbatim` in every text."""
    return units(json.dumps(block, ensure_ascii=False)) + 40
