"""YAML files whose complaints name file and line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import yaml

from bot.errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True)
class Document:
    """A parsed file, with the line of every node by its path of keys and indices."""

    path: Path
    value: Any
    lines: dict[tuple[str | int, ...], int]

    def where(self, location: tuple[str | int, ...]) -> str:
        """File and line of the deepest node known on the way to `location`."""
        for end in range(len(location), -1, -1):
            line = self.lines.get(location[:end])
            if line is not None:
                return f"{self.path}:{line}"
        return str(self.path)


def read_yaml(path: Path) -> Document:
    """Raises ConfigError when the file is missing, no YAML, or holds a key twice."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", str(path)) from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8", str(path)) from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: dict[tuple[str | int, ...], int] = {}
        if node is not None:
            _collect(node, (), lines, path)
        return Document(path, yaml.safe_load(text), lines)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"no YAML: {error.problem}", f"{path}:{line}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"no YAML: {error}", str(path)) from error


def _collect(node: yaml.Node, at: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int], path: Path) -> None:
    lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in seen:
                raise ConfigError(f"key {name} appears twice", f"{path}:{line}")
            seen.add(name)
            lines[(*at, name)] = line
            _collect(value, (*at, name), lines, path)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            _collect(value, (*at, i), lines, path)


def validate(document: Document, adapter: pydantic.TypeAdapter[T]) -> T:
    """Check a document against a model. Raises ConfigError that lists every complaint with its line."""
    try:
        return adapter.validate_python(document.value)
    except pydantic.ValidationError as error:
        said = []
        for item in error.errors():
            location = tuple(item["loc"])
            name = ".".join(str(part) for part in location)
            message = item["msg"].removeprefix("Value error, ")
            if item["type"] == "extra_forbidden":
                message = "unknown key"
            said.append((document.where(location), f"{name}: {message}" if name else message))
        first, *rest = said
        more = "".join(f"\n{where}: {message}" for where, message in rest)
        raise ConfigError(first[1] + more, first[0]) from error
