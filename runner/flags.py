"""Command-line flags made from a frozen dataclass: one place for name, type, default and meaning."""

import argparse
import dataclasses
import types
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def option(text: str, default: Any = dataclasses.MISSING, choices: Sequence[str] | None = None) -> Any:
    """A field that becomes a flag. Without a default the flag is required."""
    return dataclasses.field(default=default, metadata={"text": text, "choices": choices})


def parse(options: type[T], argv: Sequence[str], prog: str) -> T:
    """Read `argv` into `options`, a dataclass of `option` fields. Its docstring heads the help."""
    parser = argparse.ArgumentParser(
        prog=prog, description=options.__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    types_by_name = typing.get_type_hints(options)
    for field in dataclasses.fields(options):  # type: ignore[arg-type]
        _add(parser, field, types_by_name[field.name])
    return options(**vars(parser.parse_args(argv)))


def _add(parser: argparse.ArgumentParser, field: dataclasses.Field[Any], kind: Any) -> None:
    required = field.default is dataclasses.MISSING
    given: dict[str, Any] = {"dest": field.name, "help": field.metadata["text"], "required": required}
    given["default"] = argparse.SUPPRESS if required else field.default
    if kind is bool:
        given["action"] = argparse.BooleanOptionalAction
    else:
        given["type"] = _reader(kind)
        given["metavar"] = _metavar(kind)
        if field.metadata["choices"]:
            given["choices"] = field.metadata["choices"]
            del given["metavar"]
    parser.add_argument("--" + field.name.replace("_", "-"), **given)


def _inner(kind: Any) -> Any:
    """The type inside `X | None`."""
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return next(part for part in typing.get_args(kind) if part is not type(None))
    return kind


def _reader(kind: Any) -> Callable[[str], Any]:
    kind = _inner(kind)
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]

        def several(text: str) -> tuple[Any, ...]:
            return tuple(item(part) for part in text.split(",") if part.strip())

        several.__name__ = f"list of {item.__name__}"
        return several
    if kind is Path:
        return lambda text: Path(text).expanduser()
    reader: Callable[[str], Any] = kind
    return reader


def _metavar(kind: Any) -> str:
    kind = _inner(kind)
    if typing.get_origin(kind) is tuple:
        return f"{typing.get_args(kind)[0].__name__.upper()},…"
    return str(kind.__name__).upper()
