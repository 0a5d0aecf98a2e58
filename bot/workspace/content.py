"""What a call wants to say: text, blocks and metadata, checked and brought into the form Slack keeps."""

import html
import json
import re
import uuid
from dataclasses import dataclass
from typing import Any

from bot.workspace import limits
from bot.workspace.blockcheck import check_blocks
from bot.workspace.elementcheck import KnownFile
from bot.workspace.refusal import Json, Refusal

_TOKEN = re.compile(r"<(?:[@#!][^<>\n]+|(?:https?://|mailto:|tel:)[^<>\n]+)>")
_ENTITY = re.compile(r"&(?!amp;|lt;|gt;)")
_EVENT_TYPE = re.compile(r"[A-Za-z0-9_.:-]{1,255}")


@dataclass(frozen=True, kw_only=True)
class Content:
    text: str
    blocks: list[Json]
    metadata: Json | None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the checks must know of the workspace: its files, and block types a fault makes unknown."""

    known_file: KnownFile
    refused_types: frozenset[str]


def escape(text: str) -> str:
    """As Slack stores it: `&`, `<` and `>` as entities, except in its own `<...>` tokens."""
    out, end = [], 0
    for token in _TOKEN.finditer(text):
        out += [_escape_plain(text[end : token.start()]), token[0]]
        end = token.end()
    return "".join([*out, _escape_plain(text[end:])])


def _escape_plain(text: str) -> str:
    return _ENTITY.sub("&amp;", text).replace("<", "&lt;").replace(">", "&gt;")


def read_content(args: Json, rules: Rules, *, update: bool = False) -> Content:
    """Raises Refusal: no_text, msg_too_long, invalid_blocks, msg_blocks_too_long, metadata errors."""
    text = _read_text(args)
    blocks = args.get("blocks") or []
    if not text and not blocks and not args.get("attachments"):
        raise Refusal("no_text")
    text = escape(text)
    if update and len(html.escape(html.unescape(text), quote=False).encode()) > limits.UPDATE_TEXT_BYTES:
        raise Refusal("msg_too_long")
    if complaints := check_blocks(blocks, rules.known_file, rules.refused_types):
        table = "only_one_table_allowed"
        raise Refusal(table) if table in complaints else Refusal("invalid_blocks", complaints)
    if _text_size(blocks) > limits.BLOCKS_TEXT:
        raise Refusal("msg_blocks_too_long")
    metadata = read_metadata(args.get("metadata"))
    return Content(text=text[: limits.POST_TEXT], blocks=[_with_ids(b) for b in blocks], metadata=metadata)


def _read_text(args: Json) -> str:
    text, markdown = args.get("text") or "", args.get("markdown_text") or ""
    if not isinstance(text, str) or not isinstance(markdown, str):
        raise Refusal("invalid_arguments", ["[ERROR] text must be a string"])
    if markdown and (text or args.get("blocks")):
        raise Refusal("markdown_text_conflict")
    return text or markdown


def read_metadata(metadata: object) -> Json | None:
    """Raises Refusal: invalid_metadata_format, invalid_metadata_schema, metadata_too_large."""
    if metadata in (None, "", {}):
        return None
    if not isinstance(metadata, dict):
        raise Refusal("invalid_metadata_format")
    if set(metadata) != {"event_type", "event_payload"}:
        raise Refusal("invalid_metadata_schema")
    event_type, payload = metadata["event_type"], metadata["event_payload"]
    if not isinstance(event_type, str) or not _EVENT_TYPE.fullmatch(event_type) or not isinstance(payload, dict):
        raise Refusal("invalid_metadata_schema")
    if len(json.dumps(payload).encode()) > limits.METADATA_BYTES:
        raise Refusal("metadata_too_large")
    if not all(_metadata_value(v) for v in payload.values()):
        raise Refusal("invalid_metadata_schema")
    return metadata


def _metadata_value(value: object, depth: int = 0) -> bool:
    if isinstance(value, str | int | float | bool):
        return True
    if depth > 1:
        return False
    if isinstance(value, dict):
        return all(_metadata_value(v, depth + 1) for v in value.values())
    return isinstance(value, list) and all(_metadata_value(v, depth) for v in value)


def _text_size(value: Any, key: str = "") -> int:
    if isinstance(value, dict):
        return sum(_text_size(v, k) for k, v in value.items())
    if isinstance(value, list):
        return sum(_text_size(v, key) for v in value)
    return len(value) if isinstance(value, str) and key in ("text", "title", "alt_text") else 0


def _with_ids(block: Json) -> Json:
    """Slack names what the app left unnamed: every block, and every button."""
    named = {**block, "block_id": block.get("block_id") or uuid.uuid4().hex[:5]}
    if block["type"] == "actions":
        named["elements"] = [{**e, "action_id": e.get("action_id") or uuid.uuid4().hex[:5]} for e in block["elements"]]
    if (block.get("accessory") or {}).get("type") == "button":
        accessory = block["accessory"]
        named["accessory"] = {**accessory, "action_id": accessory.get("action_id") or uuid.uuid4().hex[:5]}
    return named
