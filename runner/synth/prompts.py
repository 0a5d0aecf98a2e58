"""Prompts: the user's turns that the target will answer."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.protocol.errors import DataError


@dataclass(frozen=True)
class Prompt:
    """`system` None: what the chat template puts there by itself."""

    id: str
    turns: tuple[str, ...]
    system: str | None = None


def read_prompts(path: Path) -> tuple[list[Prompt], str]:
    """Prompts of a JSON-lines file and the file's digest.

    A line holds `turns` (user texts), or `messages` (only the user's and a first system message count), or `prompt`.
    Raises DataError naming the line.
    """
    try:
        body = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: unreadable prompts: {error}") from error
    prompts = []
    for number, line in enumerate(body.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            prompts.append(_parse(json.loads(line), f"line-{number}"))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path}, line {number}: no prompt: {error}", "a line holds turns, messages or prompt"
            ) from error
    if not prompts:
        raise DataError(f"{path}: no prompts")
    if len({prompt.id for prompt in prompts}) != len(prompts):
        raise DataError(f"{path}: two prompts have the same id")
    return prompts, hashlib.sha256(body).hexdigest()


def _parse(value: dict[str, Any], fallback_id: str) -> Prompt:
    system = None
    turns: Sequence[str]
    if "turns" in value:
        turns = value["turns"]
    elif "messages" in value:
        messages = value["messages"]
        turns = [message["content"] for message in messages if message["role"] == "user"]
        if messages[0]["role"] == "system":
            system = messages[0]["content"]
    else:
        turns = [value["prompt"]]
    if not turns or not all(isinstance(turn, str) and turn.strip() for turn in turns):
        raise ValueError("no user turn, or an empty one")
    name = str(value.get("id", value.get("conversation_id", fallback_id)))
    # Ids become file names and request ids.
    return Prompt("".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:80], tuple(turns), system)
