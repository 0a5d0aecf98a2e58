"""Checks of whole blocks, as strict as Slack's: a card that passes here is not refused there."""

from collections import Counter
from typing import Any

from bot.workspace import limits
from bot.workspace.blockshape import BLOCK_KEYS, CELL_TYPES, TASK_STATUSES
from bot.workspace.elementcheck import (
    Complaints,
    KnownFile,
    at,
    check_button,
    check_image,
    check_image_element,
    check_keys,
    check_length,
    check_rich_text,
    check_text,
)

Block = dict[str, Any]


def check_blocks(blocks: object, known_file: KnownFile, refused_types: frozenset[str] = frozenset()) -> list[str]:
    """Complaints in Slack's words, [] when the blocks are fine; `refused_types` are taken as unknown."""
    if not isinstance(blocks, list):
        return ["blocks must be an array"]
    found: list[str] = []
    if len(blocks) > limits.BLOCKS:
        found.append(at(f"no more than {limits.BLOCKS} items allowed", "/blocks"))
    for i, block in enumerate(blocks):
        pointer = f"/blocks/{i}"
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in BLOCK_KEYS or kind in refused_types:
            found.append(at(f"unsupported type: {kind}", f"{pointer}/type"))
            continue
        found += check_keys(block, BLOCK_KEYS[kind], pointer)
        if "block_id" in block:
            found += check_length(block["block_id"], limits.BLOCK_ID, f"{pointer}/block_id")
        found += _check_one(block, pointer, known_file)
    return found + (_check_together(blocks) if not found else [])


def _check_together(blocks: list[Block]) -> list[str]:
    found = []
    for block_id, times in Counter(b["block_id"] for b in blocks if b.get("block_id")).items():
        if times > 1:
            found.append(f"block_id already exists: {block_id}")
    kinds = Counter(b["type"] for b in blocks)
    if kinds["table"] > 1:
        found.append("only_one_table_allowed")
    if kinds["plan"] and kinds["task_card"]:
        found.append("plan and task_card blocks cannot be used together")
    if sum(len(b["text"]) for b in blocks if b["type"] == "markdown") > limits.MARKDOWN_TEXT:
        found.append(f"markdown blocks must be less than {limits.MARKDOWN_TEXT + 1} characters in all")
    return found


def _check_one(block: Block, pointer: str, known_file: KnownFile) -> Complaints:
    match block["type"]:
        case "section":
            yield from _check_section(block, pointer, known_file)
        case "header":
            yield from check_text(block.get("text"), limits.HEADER_TEXT, f"{pointer}/text", plain=True)
        case "context":
            yield from _check_context(block, pointer, known_file)
        case "actions":
            yield from _check_actions(block, pointer)
        case "image":
            yield from check_image(block, pointer, known_file)
            if "title" in block:
                yield from check_text(block["title"], limits.IMAGE_TEXT, f"{pointer}/title", plain=True)
        case "markdown":
            yield from check_length(block.get("text"), limits.MARKDOWN_TEXT, f"{pointer}/text")
        case "rich_text":
            yield from check_rich_text(block, pointer)
        case "table":
            yield from _check_table(block, pointer)
        case "plan":
            yield from _check_plan(block, pointer)
        case "task_card":
            yield from _check_task(block, pointer)


def _check_section(block: Block, pointer: str, known_file: KnownFile) -> Complaints:
    fields = block.get("fields")
    if "text" not in block and not fields:
        yield at("missing required field: text", pointer)
    if "text" in block:
        yield from check_text(block["text"], limits.SECTION_TEXT, f"{pointer}/text")
    if fields is not None:
        if not isinstance(fields, list) or not 1 <= len(fields) <= limits.SECTION_FIELDS:
            yield at(f"must have 1 to {limits.SECTION_FIELDS} items", f"{pointer}/fields")
        else:
            for i, field in enumerate(fields):
                yield from check_text(field, limits.FIELD_TEXT, f"{pointer}/fields/{i}")
    if "accessory" in block:
        yield from _check_element(block["accessory"], f"{pointer}/accessory", ("button", "image"), known_file)


def _check_element(element: object, pointer: str, kinds: tuple[str, ...], known_file: KnownFile) -> Complaints:
    kind = element.get("type") if isinstance(element, dict) else None
    if not isinstance(element, dict) or kind not in kinds:
        yield at(f"unsupported type: {kind}", f"{pointer}/type")
    elif kind == "button":
        yield from check_button(element, pointer)
    elif kind == "image":
        yield from check_image_element(element, pointer, known_file)
    else:
        yield from check_text(element, limits.FIELD_TEXT, pointer)


def _check_context(block: Block, pointer: str, known_file: KnownFile) -> Complaints:
    elements = block.get("elements")
    if not isinstance(elements, list) or not 1 <= len(elements) <= limits.CONTEXT_ELEMENTS:
        yield at(f"must have 1 to {limits.CONTEXT_ELEMENTS} items", f"{pointer}/elements")
        return
    for i, element in enumerate(elements):
        kinds = ("image", "mrkdwn", "plain_text")
        yield from _check_element(element, f"{pointer}/elements/{i}", kinds, known_file)


def _check_actions(block: Block, pointer: str) -> Complaints:
    elements = block.get("elements")
    if not isinstance(elements, list) or not 1 <= len(elements) <= limits.ACTIONS_ELEMENTS:
        yield at(f"must have 1 to {limits.ACTIONS_ELEMENTS} items", f"{pointer}/elements")
        return
    seen: set[str] = set()
    for i, element in enumerate(elements):
        yield from _check_element(element, f"{pointer}/elements/{i}", ("button",), lambda _: False)
        action_id = element.get("action_id") if isinstance(element, dict) else None
        if action_id is not None and action_id in seen:
            yield at(f"action_id already exists: {action_id}", f"{pointer}/elements/{i}/action_id")
        seen.add(str(action_id))


def _check_table(block: Block, pointer: str) -> Complaints:
    rows = block.get("rows")
    if not isinstance(rows, list) or not 1 <= len(rows) <= limits.TABLE_ROWS:
        yield at(f"must have 1 to {limits.TABLE_ROWS} items", f"{pointer}/rows")
        return
    total = 0
    for r, row in enumerate(rows):
        if not isinstance(row, list) or not 1 <= len(row) <= limits.TABLE_COLUMNS:
            yield at(f"must have 1 to {limits.TABLE_COLUMNS} items", f"{pointer}/rows/{r}")
            continue
        for c, cell in enumerate(row):
            where = f"{pointer}/rows/{r}/{c}"
            kind = cell.get("type") if isinstance(cell, dict) else None
            if not isinstance(cell, dict) or kind not in CELL_TYPES:
                yield at(f"unsupported type: {kind}", f"{where}/type")
            elif kind == "rich_text":
                yield from check_rich_text(cell, where)
            else:
                total += len(str(cell.get("text", "")))
                yield from check_length(cell.get("text"), limits.TABLE_TEXT, f"{where}/text")
                if kind == "raw_number" and not isinstance(cell.get("value"), int | float):
                    yield at("must be a number", f"{where}/value")
    if total > limits.TABLE_TEXT:
        yield at(f"must be less than {limits.TABLE_TEXT + 1} characters in all", f"{pointer}/rows")


def _check_plan(block: Block, pointer: str) -> Complaints:
    yield from check_length(block.get("title"), limits.FIELD_TEXT, f"{pointer}/title")
    tasks = block.get("tasks", [])
    if not isinstance(tasks, list):
        yield at("must be an array", f"{pointer}/tasks")
        return
    for i, task in enumerate(tasks):
        where = f"{pointer}/tasks/{i}"
        if not isinstance(task, dict) or task.get("type") != "task_card":
            yield at("must be a task_card object", where)
            continue
        yield from check_keys(task, BLOCK_KEYS["task_card"], where)
        yield from _check_task(task, where)
    ids = Counter(t.get("task_id") for t in tasks if isinstance(t, dict))
    for task_id, times in ids.items():
        if times > 1:
            yield at(f"task_id already exists: {task_id}", f"{pointer}/tasks")


def _check_task(task: Block, pointer: str) -> Complaints:
    yield from check_length(task.get("task_id"), limits.BLOCK_ID, f"{pointer}/task_id")
    yield from check_length(task.get("title"), limits.FIELD_TEXT, f"{pointer}/title")
    if task.get("status") not in TASK_STATUSES:
        yield at("must be a valid enum value", f"{pointer}/status")
    for key in ("details", "output"):
        if key in task:
            yield from check_rich_text(task[key], f"{pointer}/{key}", one=True)
    for i, source in enumerate(task.get("sources") or []):
        if not isinstance(source, dict) or source.get("type") != "url" or not source.get("url"):
            yield at("must be a url source", f"{pointer}/sources/{i}")
