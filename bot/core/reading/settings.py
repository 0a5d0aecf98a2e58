"""Values said in chat: "lr 2e-4", "2 epochs", "gpus 0-3", "on box2"; typed and bounded by the pipeline."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.core.reading.context import ParamSpec
from bot.core.reading.items import Item
from bot.core.reading.names import Host
from bot.core.reading.tags import Tag

_NUMBER = re.compile(r"([+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?|[+-]?\.\d+)(e[+-]?\d{1,3})?([km])?\Z", re.ASCII)
_RANGE = re.compile(r"(\d{1,4})-(\d{1,4})\Z", re.ASCII)
_SCALE = {"k": 1_000, "m": 1_000_000, None: 1}
_MAX_RANGE = 64
_JOINERS = (Tag.TO, Tag.SET, Tag.ARTICLE, Tag.AT, Tag.AUX)
_WRITTEN = frozenset({"of", "as"})
_BETWEEN = frozenset({"or", "-", "/", ".", "..", "...", "~", "through"})
_QUOTES = ("'", '"', "\n")
_SWITCHES = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One value that was asked for. problem: None, out_of_range, no_value, or unknown_param."""

    name: str
    spec: ParamSpec | None = None
    value: Any = None
    problem: str | None = None
    texts: tuple[str, ...] = ()
    of: str | None = None  # the stage named before it: "extraction lr 2e-4"

    @property
    def names_another_stage(self) -> bool:
        """Whether the stage named before it is not the parameter's own."""
        return self.of is not None and self.spec is not None and self.spec.stage not in (None, self.of)


def parse_number(text: str) -> int | float | None:
    """ "9,000", "12k", "2e-4", ".5"; None when it isn't one number, or isn't finite."""
    match = _NUMBER.match(text)
    if not match:
        return None
    value = float(match[1].replace(",", "") + (match[2] or "")) * _SCALE[match[3]]
    if not math.isfinite(value):
        return None
    whole = value.is_integer() and not match[2] and ("." not in match[1] or match[3] is not None)
    return int(value) if whole else round(value, 12) if match[3] else value


def find_settings(items: Sequence[Item]) -> tuple[list[Setting], set[int]]:
    """The settings in one clause, and the positions of the items they were made of."""
    settings: list[Setting] = []
    used: set[int] = set()
    for at, item in enumerate(items):
        if at in used:
            continue
        found = _at(items, at, item, used)
        if found is not None:
            settings.append(found[0])
            used |= found[1]
    return settings, used


def _at(items: Sequence[Item], at: int, item: Item, used: set[int]) -> tuple[Setting, set[int]] | None:
    if isinstance(item.value, Host):
        return _host(items, at, item.value, used)
    if isinstance(item.value, ParamSpec):
        return _parameter(items, at, item.value, used)
    return _unknown(items, at, item)


def _host(items: Sequence[Item], at: int, host: Host, used: set[int]) -> tuple[Setting, set[int]] | None:
    before = at - 1
    if before >= 0 and (items[before].has(Tag.ON, Tag.SET, Tag.TO) or isinstance(items[before].value, ParamSpec)):
        taken = {before, at}
    else:
        return None
    return Setting(name=host.param.name, spec=host.param, value=host.name), taken


def _parameter(items: Sequence[Item], at: int, spec: ParamSpec, used: set[int]) -> tuple[Setting, set[int]] | None:
    after = at + 1
    while after < len(items) and _joins(items[after]):
        after += 1
    if after < len(items) and items[after].text == "between":
        figures = {
            at,
            *(i for i in range(after, len(items)) if items[i].has(Tag.NUMBER) or items[i].text in ("between", "and")),
        }
        return Setting(name=spec.name, spec=spec, problem="no_value"), figures
    if after < len(items) and _is_value(items[after], spec):
        texts, end = _values(items, after, spec)
        start = _opening(items, at)
        taken = set(range(start, end))
        if end < len(items) and items[end].has(Tag.MARK) and items[end].text not in _QUOTES:  # "2e-4 %", "3+"
            return Setting(name=spec.name, spec=spec, problem="no_value"), taken | {end}
        if (last := _range_end(items, end)) is not None:
            return Setting(name=spec.name, spec=spec, problem="no_value"), taken | set(range(end, last))
        return replace(_typed(spec, texts), of=_stage_before(items, start)), taken
    before = at - 1
    if before >= 0 and before not in used and items[before].has(Tag.NUMBER) and spec.type != "gpus":
        counted = items[at].has(Tag.NOUN) and not (before > 0 and items[before - 1].has(Tag.SET))
        if not counted:
            taken = set(range(_opening(items, before), at + 1))
            if before > 0 and items[before - 1].has(Tag.MARK) and items[before - 1].text not in _QUOTES:  # "~3 epochs"
                return Setting(name=spec.name, spec=spec, problem="no_value"), taken | {before - 1}
            if before > 1 and items[before - 2].has(Tag.NUMBER) and _joins_range(items[before - 1]):
                return Setting(name=spec.name, spec=spec, problem="no_value"), taken | {before - 2, before - 1}
            return replace(_typed(spec, [items[before].text]), of=_stage_before(items, min(taken))), taken
    relative = [i for i, other in enumerate(items) if other.has(Tag.RELATIVE) and abs(i - at) <= 3]
    if relative and not items[at].has(Tag.NOUN):
        return Setting(name=spec.name, spec=spec, problem="no_value"), {at, *relative}
    return None


def _joins_range(item: Item) -> bool:
    return item.has(Tag.TO, Tag.CONDITION) or item.text in _BETWEEN


def _range_end(items: Sequence[Item], at: int) -> int | None:
    """Behind the second figure of "1e-4 to 3e-4", "2 or 3", "1e-4..3e-4": between which values, it doesn't say."""
    end = at
    while end < len(items) and _joins_range(items[end]):
        end += 1
    ranges = end > at and end < len(items) and items[end].has(Tag.NUMBER)
    other = end + 1 < len(items) and isinstance(items[end + 1].value, ParamSpec)  # "lr 2e-4 - 3 epochs"
    return end + 1 if ranges and not other else None


def _stage_before(items: Sequence[Item], at: int) -> str | None:
    before = items[at - 2 if at > 1 and items[at - 1].is_mark(":") else at - 1] if at > 0 else None
    return str(before.value) if before is not None and before.has(Tag.STAGE) else None


def _opening(items: Sequence[Item], at: int) -> int:
    """Where "use the", "set", "lower" before a value begin."""
    while at > 0 and (
        items[at - 1].has(Tag.SET, Tag.RELATIVE, Tag.ARTICLE, Tag.AT, Tag.ON) or items[at - 1].text == "only"
    ):
        at -= 1
    return at


def _joins(item: Item) -> bool:
    return item.is_mark("=", ":", "==") or item.has(*_JOINERS) or item.text in _WRITTEN or item.has(Tag.RELATIVE)


def _is_value(item: Item, spec: ParamSpec) -> bool:
    if spec.type in ("choice", "host"):
        return item.text in spec.choices or (not spec.choices and not item.has(Tag.MARK))
    if spec.type == "bool":
        return item.text in _SWITCHES
    return item.has(Tag.NUMBER)


def _values(items: Sequence[Item], at: int, spec: ParamSpec) -> tuple[list[str], int]:
    texts = [items[at].text]
    at += 1
    if spec.type not in ("gpus", "ints"):
        return texts, at
    while at < len(items):
        step = 2 if at + 1 < len(items) and (items[at].is_mark(",") or items[at].has(Tag.AND)) else 1
        if at + step > len(items) or not items[at + step - 1].has(Tag.NUMBER):
            break
        if at + step < len(items) and isinstance(items[at + step].value, ParamSpec):
            break
        texts.append(items[at + step - 1].text)
        at += step
    return texts, at


def _typed(spec: ParamSpec, texts: list[str]) -> Setting:
    if any(text.startswith("+") for text in texts):  # three epochs, or three more?
        return Setting(name=spec.name, spec=spec, problem="no_value")
    value = _convert(spec, texts)
    if value is None:
        return Setting(name=spec.name, spec=spec, problem="out_of_range", texts=tuple(texts))
    numbers = value if isinstance(value, list) else [value]
    inside = all(_within(spec, number) for number in numbers)
    problem = None if inside else "out_of_range"
    return Setting(name=spec.name, spec=spec, value=value, problem=problem, texts=tuple(texts))


def rebind(setting: Setting, own: Sequence[ParamSpec], stages: Sequence[str]) -> Setting:
    """The same setting by one run's own parameters; of several of that name, the one of the stages to come.

    What only other runs or pipelines have is unknown here, unless it belongs to a stage that is over.
    """
    if setting.spec is None:
        return setting
    named = [spec for spec in own if spec.name == setting.name]
    if setting.of is not None and setting.problem is None:
        named = [spec for spec in named if spec.stage in (None, setting.of)]
        if not named:
            return Setting(name=setting.name, problem="unknown_param")
    if not named:
        foreign = setting.spec.stage is None or setting.spec.stage in stages
        return Setting(name=setting.name, problem="unknown_param") if foreign else setting
    spec = next((spec for spec in named if spec.stage is None or spec.stage in stages), named[0])
    if spec == setting.spec:
        return setting
    return _typed(spec, list(setting.texts)) if setting.texts else replace(setting, spec=spec)


def takes(own: Sequence[ParamSpec], name: str, value: Any) -> bool:
    """Whether one of these parameters has that name, and the value is within its bounds."""
    numbers = value if isinstance(value, list) else [value]
    return any(spec.name == name and all(_within(spec, number) for number in numbers) for spec in own)


def _within(spec: ParamSpec, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return True
    if spec.type != "float" and not isinstance(value, int):
        return False
    return (spec.low is None or value >= spec.low) and (spec.high is None or value <= spec.high)


def _convert(spec: ParamSpec, texts: list[str]) -> Any:
    """The typed value; None when the words don't make one."""
    if spec.type in ("choice", "host", "str"):
        return texts[0]
    if spec.type == "bool":
        return _SWITCHES.get(texts[0])
    if spec.type in ("gpus", "ints"):
        return _whole_numbers(texts)
    number = parse_number(texts[0])
    return float(number) if number is not None and spec.type == "float" else number


def _whole_numbers(texts: list[str]) -> list[int] | None:
    numbers: list[int] = []
    for part in ",".join(texts).split(","):
        if match := _RANGE.match(part):
            first, last = int(match[1]), int(match[2])
            if not first <= last < first + _MAX_RANGE:
                return None
            numbers.extend(range(first, last + 1))
        elif part.isdecimal() and len(part) <= 9:
            numbers.append(int(part))
        else:
            return None
    return numbers if len(set(numbers)) == len(numbers) else None


def _unknown(items: Sequence[Item], at: int, item: Item) -> tuple[Setting, set[int]] | None:
    """ "frobnicate=3", "set foo to 3": a value for something that chat may not set."""
    if not item.has(Tag.UNKNOWN, Tag.NOUN, Tag.SUITE):
        return None
    after = at + 1
    alone = at == 0 and 2 <= len(items) <= 3 and items[-1].has(Tag.NUMBER)
    if alone and all(other.has(Tag.UNKNOWN) for other in items[:-1]):
        name = " ".join(other.text for other in items[:-1])
        return Setting(name=name, problem="unknown_param"), set(range(len(items)))
    equals = after < len(items) and items[after].is_mark("=", "==")
    set_before = at > 0 and items[at - 1].has(Tag.SET) and item.has(Tag.UNKNOWN)
    if set_before:
        while after < len(items) and _joins(items[after]):
            after += 1
    if equals or (set_before and after < len(items) and items[after].has(Tag.NUMBER)):
        end = min(after + 2 if equals else after + 1, len(items))
        return Setting(name=item.text, problem="unknown_param"), set(range(_opening(items, at), end))
    return None
