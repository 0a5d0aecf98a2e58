"""Cards as terminal text: the same words that Slack shows, without its mark-up."""

import textwrap

from bot.core.cards import Buttons, Card, Divider, Part, Small, Stages, Table, Text
from bot.core.columns import pad, width, widths
from bot.core.mrkdwn import FENCE, clean, plain

MARKS = {"pending": "○", "in_progress": "▶", "complete": "✔", "error": "✖"}


def render(card: Card, columns: int = 100) -> str:
    """Lines of about `columns` cells, no escape sequences, no newline at the end."""
    told = " ".join(f"@{clean(who)}" for who in card.mentions)
    title = _plain(card.title)
    blocks = [f"{title}\n{'═' * width(title)}" if title else "", told]
    blocks += [_part(part, columns) for part in card.parts] or [_paragraphs(card.fallback, columns)]
    return "\n".join(block for block in blocks if block)


def _plain(text: str) -> str:
    return plain(clean(text))


def _part(part: Part, columns: int) -> str:
    match part:
        case Text():
            return _paragraphs(part.text, columns)
        case Small():
            return textwrap.indent(_paragraphs(part.text, columns - 2), "  ")
        case Stages():
            return "\n".join([_plain(part.title), *_stage_lines(part)])
        case Table():
            return _box(part)
        case Buttons():
            return " ".join(f"[{_plain(button.label)}]" for button in part.buttons)
        case Divider():
            return "─" * columns


def _paragraphs(text: str, columns: int) -> str:
    """Long lines wrapped, except inside code fences."""
    out: list[str] = []
    for i, piece in enumerate(clean(text).split(FENCE)):
        lines = plain(piece).strip("\n").split("\n")
        for line in lines:
            out += (
                textwrap.wrap(line, columns, break_long_words=False, break_on_hyphens=False) or [""]
                if i % 2 == 0
                else ["  " + line]
            )
    return "\n".join(out).strip("\n")


def _stage_lines(stages: Stages) -> list[str]:
    titles = [_plain(line.title) for line in stages.lines]
    cells = max(map(width, titles), default=0)
    drawn = zip(stages.lines, titles, strict=True)
    return [f"  {MARKS[line.mark]} {pad(title, cells)}  {_plain(line.detail)}".rstrip() for line, title in drawn]


def _box(table: Table) -> str:
    rows = [[_plain(cell).replace("\n", " ") for cell in row] for row in (table.header, *table.rows)]
    cells = widths(rows)
    lines = ["│ " + " │ ".join(pad(c, n) for c, n in zip(row, cells, strict=True)) + " │" for row in rows]
    top, middle, bottom = (
        left + cross.join("─" * (n + 2) for n in cells) + right for left, cross, right in ("┌┬┐", "├┼┤", "└┴┘")
    )
    return "\n".join([top, lines[0], middle, *lines[1:], bottom])
