"""A `Context` from plain JSON values: objects by field name, enums by value, lists as tuples."""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import StrEnum
from typing import Any

from bot.core.reading.context import Context


class ContextError(ValueError):
    """The JSON isn't a context; the message names the field."""


def context_of(value: Any) -> Context:
    """Decode a context. Raises ContextError for unknown or missing fields and for values of the wrong type."""
    decoded: Context = _decode(Context, value, "context")
    return decoded


def _decode(kind: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _decode(next(k for k in typing.get_args(kind) if k is not types.NoneType), value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise ContextError(f"{where}: a list is needed")
        item = typing.get_args(kind)[0]
        return tuple(_decode(item, one, f"{where}[{at}]") for at, one in enumerate(value))
    if dataclasses.is_dataclass(kind):
        return _object(kind, value, where)
    kind = origin or kind
    if issubclass(kind, StrEnum):
        try:
            return kind(value)
        except ValueError as error:
            raise ContextError(f"{where}: {value!r} is none of {', '.join(kind)}") from error
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ContextError(f"{where}: {value!r} is no {kind.__name__}")
    return value


def _object(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ContextError(f"{where}: an object is needed")
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(value) - set(hints))
    if unknown:
        raise ContextError(f"{where}: unknown field {unknown[0]!r}")
    try:
        return kind(**{name: _decode(hints[name], given, f"{where}.{name}") for name, given in value.items()})
    except TypeError as error:
        raise ContextError(f"{where}: {error}") from error
