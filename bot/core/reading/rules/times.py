"""Conditions and times in an order, as far as they can be armed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from bot.core.reading.items import Item
from bot.core.reading.rules.moment import Moment
from bot.core.reading.settings import parse_number
from bot.core.reading.tags import Tag

_UNITS = {"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60, "minute": 60,
          "minutes": 60, "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400,
          "days": 86400, "an hour": 3600, "half an hour": 1800}  # fmt: skip
_WHOLE = frozenset({"an hour", "half an hour"})
_COUNTED = {"sample": "samples", "samples": "samples", "epoch": "epochs", "epochs": "epochs", "step": "steps",
            "steps": "steps", "tokens": "tokens"}  # fmt: skip


def delay_s(items: Sequence[Item]) -> int | None:
    """Seconds of "in 30m", "in 10 minutes", "in half an hour"; None without a delay."""
    for at, item in enumerate(items):
        if not item.has(Tag.IN, Tag.CONDITION) or at + 1 >= len(items):
            continue
        if items[at + 1].text in _WHOLE:
            return _UNITS[items[at + 1].text]
        digits = items[at + 1].text.rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = items[at + 1].text[len(digits) :] or (items[at + 2].text if at + 2 < len(items) else "")
        number = parse_number(digits)
        if number is not None and unit in _UNITS:
            return round(number * _UNITS[unit])
    return None


def condition(moment: Moment) -> dict[str, Any] | None:
    """The milestone that an order waits for: {"samples": 9000}, {"percent": 80}, or the end of a stage."""
    items = moment.message.items
    if any(item.has(Tag.RUN) and item.value != moment.run.id for item in items):
        return None  # "when r14 is done": no milestone of this run
    for item, after in zip(items, [*items[1:], None], strict=True):
        if not item.has(Tag.NUMBER):
            continue
        number = parse_number(item.text.rstrip("%"))
        unit = "percent" if item.text.endswith("%") else _COUNTED.get(after.text if after else "")
        if unit is None and number is not None and _reaches(moment, item, number):
            unit = "samples"
        if number is not None and unit and not _of_something_else(items, item):
            return {unit: number}
    if moment.message.named(Tag.DONE):
        stage = next((claim.stage for claim in moment.message.claims if claim.stage), moment.run.stage)
        return {"stage": stage, "status": "done"}
    return None


def _reaches(moment: Moment, figure: Item, number: int | float) -> bool:
    """ "continue at 9k" while samples are counted: a figure that is no time of day, within what is to be reached."""
    total = moment.run.total
    return figure.text[-1] in "km" and total is not None and moment.run.alive and 0 < number <= total


def _of_something_else(items: Sequence[Item], figure: Item) -> bool:
    """ "if disk usage is below 80 %", "if loss drops below 2": a figure of something other than the progress."""
    at = next(at for at, item in enumerate(items) if item is figure)
    since = next((i for i in range(at, -1, -1) if items[i].has(Tag.CONDITION)), at)
    return any(
        item.has(Tag.METRIC, Tag.HOST)
        or (item.has(Tag.VIEW) and item.value not in ("progress", "summary", "eta"))
        or (item.has(Tag.UNKNOWN) and before.has(Tag.CONDITION, Tag.ARTICLE, Tag.MY))
        for before, item in itertools.pairwise(items[since:at])
    )


def timing(moment: Moment, why: str) -> dict[str, Any]:
    """The arguments that a timed or conditional order adds to the question."""
    if why not in ("timed", "conditional"):
        return {}
    delay = delay_s(moment.message.items)
    if delay is not None:
        return {"after_s": delay}
    when = condition(moment)
    return {"when": when} if when else {}
