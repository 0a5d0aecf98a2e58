"""The parts of a card as blocks, each within its own limits; `plainly` draws them as sections of text."""

from collections import Counter
from typing import Any

from bot.adapters.slack.richtext import is_rich, plain_text, rich_text
from bot.core.cards import Button, Buttons, Divider, Part, Small, Stages, Table
from bot.core.cards import escape as escape_mrkdwn
from bot.core.columns import align
from bot.core.mrkdwn import FENCE, clean, clip, plain

Json = dict[str, Any]
MAX_SMALL = 1_500
MAX_TITLE = 150
MAX_DETAIL = 250
MAX_STAGES = 20
MAX_CELL = 200
MAX_ROWS = 100
MAX_COLUMNS = 20
MAX_TABLE = 3_000
MAX_BUTTONS = 25
MAX_LABEL = 75
MAX_VALUE = 2_000
MARKS = {"pending": "○", "in_progress": "▶", "complete": "✔", "error": "✖"}


def section(text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def note(text: str) -> Json:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def draw_part(part: Part, plainly: bool) -> list[Json]:
    """Blocks of a part that is neither paragraph nor buttons."""
    match part:
        case Small():
            text = clip(clean(part.text), MAX_SMALL)
            return [note(text)] if text.strip() else []
        case Stages():
            return [section(_stages_text(part))] if plainly else [_plan(part)]
        case Table():
            return _draw_table(part, plainly)
        case Divider():
            return [{"type": "divider"}]
        case _:
            raise TypeError(f"no way to draw {part!r}")


def _plan(stages: Stages) -> Json:
    tasks = []
    for n, line in enumerate(stages.lines[:MAX_STAGES]):
        task: Json = {"type": "task_card", "task_id": f"{n}-{clip(clean(line.id), 100)}", "status": line.mark}
        task["title"] = plain_text(clean(line.title), MAX_TITLE)["text"]
        if detail := clean(line.detail):
            task["details"] = rich_text(detail, MAX_DETAIL)
        tasks.append(task)
    return {"type": "plan", "title": plain_text(clean(stages.title), MAX_TITLE)["text"], "tasks": tasks}


def _stages_text(stages: Stages) -> str:
    lines = [f"*{clip(clean(stages.title), MAX_TITLE)}*"]
    for line in stages.lines[:MAX_STAGES]:
        title, detail = clip(clean(line.title), 50), clip(clean(line.detail), 80)
        lines.append(f"{MARKS[line.mark]} {title}" + (f" · {detail}" if detail else ""))
    return "\n".join(lines)


def _draw_table(table: Table, plainly: bool) -> list[Json]:
    rows: list[list[str]] = []
    left, columns = MAX_TABLE, min(len(table.header), MAX_COLUMNS)
    for row in (table.header, *table.rows):
        cells = [clip(clean(cell), MAX_CELL) for cell in (*row, *[""] * columns)[:columns]]
        left -= sum(len(cell) + 30 for cell in cells)
        if rows and (left < 0 or len(rows) >= MAX_ROWS):
            break
        rows.append(cells)
    if not rows[0]:
        return []
    blocks = [_table_text(rows) if plainly else _table(rows)]
    if missing := 1 + len(table.rows) - len(rows):
        blocks.append(note(f"… {missing} more row{'s' if missing > 1 else ''}."))
    return blocks


def _table(rows: list[list[str]]) -> Json:
    return {"type": "table", "rows": [[_cell(cell) for cell in row] for row in rows]}


def _cell(text: str) -> Json:
    if is_rich(text):
        return rich_text(text, MAX_CELL)
    return {"type": "raw_text", "text": plain(text) or "\u00a0"}


def _table_text(rows: list[list[str]]) -> Json:
    """A table in a fixed-width font, cut where a section ends."""
    spoken = [[plain(cell).replace("\n", " ") for cell in row] for row in rows]
    body, lines = "", align(spoken[0], spoken[1:])
    for line in lines:
        safe = escape_mrkdwn(line) + "\n"
        if len(body) + len(safe) > 2_800:
            body += "…\n"
            break
        body += safe
    return section(f"{FENCE}\n{body}{FENCE}")


def draw_buttons(row: Buttons, seen: Counter[str]) -> list[Json]:
    """`seen` counts the action ids of the message: a second `advance` becomes `advance:2`."""
    drawn = [_button(button, seen) for button in row.buttons if len(button.value) <= MAX_VALUE]
    rows = [drawn[i : i + MAX_BUTTONS] for i in range(0, len(drawn), MAX_BUTTONS)]
    blocks: list[Json] = [{"type": "actions", "elements": elements} for elements in rows]
    if lost := [clip(clean(b.label), MAX_LABEL) for b in row.buttons if len(b.value) > MAX_VALUE]:
        blocks.append(note(f"No button for {', '.join(lost)}: say it in words."))
    return blocks


def _button(button: Button, seen: Counter[str]) -> Json:
    seen[button.action] += 1
    times = seen[button.action]
    drawn: Json = {
        "type": "button",
        "action_id": button.action if times == 1 else f"{button.action}:{times}",
        "text": plain_text(clean(button.label) or button.action, MAX_LABEL),
        "value": button.value,
    }
    if button.style:
        drawn["style"] = button.style
    if question := clean(button.confirm):
        drawn["confirm"] = {
            "title": plain_text(clean(button.label) or "Sure?", 100),
            "text": plain_text(question, 300),
            "confirm": plain_text("Yes", 30),
            "deny": plain_text("No", 30),
            **({"style": button.style} if button.style else {}),
        }
    return drawn
