"""Checks of the parts inside blocks: text objects, buttons, images, rich text. Each returns complaints."""

from collections.abc import Callable, Iterator
from typing import Any

from bot.workspace import limits
from bot.workspace.blockshape import BUTTON_KEYS, CONFIRM_KEYS, IMAGE_KEYS, RICH_CONTAINERS, RICH_LEAVES, TEXT_KEYS

Complaints = Iterator[str]
KnownFile = Callable[[str], bool]


def at(message: str, pointer: str) -> str:
    return f"{message} [json-pointer:{pointer}]"


def check_keys(thing: dict[str, Any], allowed: set[str], pointer: str) -> Complaints:
    for key in thing:
        if key not in allowed:
            yield at(f"invalid additional property: {key}", pointer)


def check_length(value: object, longest: int, pointer: str, *, least: int = 1) -> Complaints:
    if not isinstance(value, str):
        yield at("must be a string", pointer)
    elif len(value) < least:
        yield at(f"must be more than {least - 1} characters", pointer)
    elif len(value) > longest:
        yield at(f"must be less than {longest + 1} characters", pointer)


def check_text(value: object, longest: int, pointer: str, *, plain: bool = False) -> Complaints:
    """A text object; `plain` where Slack takes `plain_text` alone."""
    if not isinstance(value, dict):
        yield at("must provide an object", pointer)
        return
    kinds = ("plain_text",) if plain else ("plain_text", "mrkdwn")
    if value.get("type") not in kinds:
        yield at(f"unsupported type: {value.get('type')}", f"{pointer}/type")
    if value.get("type") == "mrkdwn" and "emoji" in value:
        yield at("invalid additional property: emoji", pointer)
    yield from check_keys(value, TEXT_KEYS, pointer)
    yield from check_length(value.get("text"), longest, f"{pointer}/text")


def check_button(element: dict[str, Any], pointer: str) -> Complaints:
    yield from check_keys(element, BUTTON_KEYS, pointer)
    yield from check_text(element.get("text"), limits.BUTTON_TEXT, f"{pointer}/text", plain=True)
    for key, longest in (("value", limits.BUTTON_VALUE), ("action_id", limits.ACTION_ID), ("url", limits.URL)):
        if key in element:
            yield from check_length(element[key], longest, f"{pointer}/{key}", least=0 if key == "value" else 1)
    if element.get("style", "primary") not in ("primary", "danger"):
        yield at("must be a valid enum value", f"{pointer}/style")
    if "confirm" in element:
        yield from check_confirm(element["confirm"], f"{pointer}/confirm")


def check_confirm(confirm: object, pointer: str) -> Complaints:
    if not isinstance(confirm, dict):
        yield at("must provide an object", pointer)
        return
    yield from check_keys(confirm, CONFIRM_KEYS, pointer)
    yield from check_text(confirm.get("title"), limits.CONFIRM_TITLE, f"{pointer}/title", plain=True)
    yield from check_text(confirm.get("text"), limits.CONFIRM_TEXT, f"{pointer}/text")
    for key in ("confirm", "deny"):
        yield from check_text(confirm.get(key), limits.CONFIRM_BUTTON, f"{pointer}/{key}", plain=True)


def check_image(image: dict[str, Any], pointer: str, known_file: KnownFile) -> Complaints:
    """What image blocks and image elements share."""
    url, slack_file = image.get("image_url"), image.get("slack_file")
    if (url is None) == (slack_file is None):
        yield at("must provide exactly one of image_url and slack_file", pointer)
    if url is not None:
        yield from check_length(url, limits.URL, f"{pointer}/image_url")
    if slack_file is not None and not (
        isinstance(slack_file, dict) and known_file(str(slack_file.get("id") or slack_file.get("url") or ""))
    ):
        yield at("invalid slack file", f"{pointer}/slack_file")
    yield from check_length(image.get("alt_text"), limits.IMAGE_TEXT, f"{pointer}/alt_text")


def check_image_element(image: dict[str, Any], pointer: str, known_file: KnownFile) -> Complaints:
    yield from check_keys(image, IMAGE_KEYS, pointer)
    yield from check_image(image, pointer, known_file)


def check_rich_text(block: object, pointer: str, *, one: bool = False) -> Complaints:
    """A rich_text block; `one` where it may hold a single element (details and output of a task)."""
    if not isinstance(block, dict) or block.get("type") != "rich_text":
        yield at("must be a rich_text object", pointer)
        return
    elements = block.get("elements")
    if not isinstance(elements, list) or not elements:
        yield at("must provide elements", f"{pointer}/elements")
        return
    if one and len(elements) != 1:
        yield at("must have exactly 1 element", f"{pointer}/elements")
    for i, element in enumerate(elements):
        yield from _check_rich_element(element, f"{pointer}/elements/{i}", RICH_CONTAINERS)


def _check_rich_element(element: object, pointer: str, kinds: tuple[str, ...]) -> Complaints:
    kind = element.get("type") if isinstance(element, dict) else None
    if not isinstance(element, dict) or kind not in kinds:
        yield at(f"unsupported type: {kind}", f"{pointer}/type")
        return
    if kind == "text":
        yield from check_length(element.get("text"), limits.POST_TEXT, f"{pointer}/text")
    if kind == "link":
        yield from check_length(element.get("url"), limits.URL, f"{pointer}/url")
    if kind in RICH_CONTAINERS:
        inner = ("rich_text_section",) if kind == "rich_text_list" else RICH_LEAVES
        children = element.get("elements")
        if not isinstance(children, list):
            yield at("must provide elements", f"{pointer}/elements")
            return
        for i, child in enumerate(children):
            yield from _check_rich_element(child, f"{pointer}/elements/{i}", inner)
