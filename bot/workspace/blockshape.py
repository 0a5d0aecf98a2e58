"""The shapes of Block Kit: which block and element types exist and which keys each may hold."""

from typing import Final

_COMMON: Final = {"type", "block_id"}

BLOCK_KEYS: Final[dict[str, set[str]]] = {
    "section": _COMMON | {"text", "fields", "accessory", "expand"},
    "divider": _COMMON,
    "header": _COMMON | {"text"},
    "context": _COMMON | {"elements"},
    "actions": _COMMON | {"elements"},
    "image": _COMMON | {"image_url", "slack_file", "alt_text", "title"},
    "markdown": _COMMON | {"text"},
    "rich_text": _COMMON | {"elements"},
    "table": _COMMON | {"rows", "column_settings"},
    "plan": _COMMON | {"title", "tasks"},
    "task_card": _COMMON | {"task_id", "title", "status", "details", "output", "sources"},
}
BUTTON_KEYS: Final = {"type", "text", "action_id", "value", "url", "style", "confirm", "accessibility_label"}
CONFIRM_KEYS: Final = {"title", "text", "confirm", "deny", "style"}
IMAGE_KEYS: Final = {"type", "image_url", "slack_file", "alt_text"}
TEXT_KEYS: Final = {"type", "text", "emoji", "verbatim"}
TASK_STATUSES: Final = ("pending", "in_progress", "complete", "error")
RICH_CONTAINERS: Final = (
    "rich_text_section",
    "rich_text_list",
    "rich_text_quote",
    "rich_text_preformatted",
)
RICH_LEAVES: Final = (
    "text",
    "link",
    "user",
    "usergroup",
    "channel",
    "emoji",
    "broadcast",
    "date",
    "color",
)
CELL_TYPES: Final = ("raw_text", "raw_number", "rich_text")
