"""The project's own files, as the house rules look at them."""

import ast
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


@cache
def tracked() -> tuple[str, ...]:
    """Paths of the project's files, tracked or about to be; all files where there is no git to ask."""
    ask = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(ask, cwd=TOP, capture_output=True, text=True) if shutil.which("git") else None
    if listed is not None and listed.returncode == 0:
        return tuple(sorted({name for name in listed.stdout.split("\0") if name and (TOP / name).is_file()}))
    skipped = {".venv", "var", ".git", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"}
    files = (path.relative_to(TOP) for path in TOP.rglob("*") if path.is_file())
    return tuple(sorted(str(path) for path in files if not skipped.intersection(path.parts) and path.suffix != ".pyc"))


def python_files(*under: str) -> list[str]:
    """Tracked Python files below the given folders."""
    return [name for name in tracked() if name.endswith(".py") and name.startswith(tuple(f"{each}/" for each in under))]


@dataclass(frozen=True)
class Source:
    """What the rules look at in a Python file. The syntax tree is let go of: kept trees slow every test after them."""

    docstring: str | None
    imports: tuple[tuple[int, str], ...]  # line and full dotted name


@cache
def source(name: str) -> Source:
    tree = ast.parse((TOP / name).read_text(encoding="utf-8"), name)
    return Source(ast.get_docstring(tree), tuple(_imports(name, tree)))


def imports(name: str) -> tuple[tuple[int, str], ...]:
    """Line and full dotted name of all that a file imports, also inside functions; relative ones made absolute."""
    return source(name).imports


def _imports(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    package = list(Path(name).with_suffix("").parts)[:-1]
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Everything that can hold an import, and no expressions: they are most of a tree."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, part, None)
            left += inner if isinstance(inner, list) else []  # a lambda has a body too
        yield node
