"""A table as lines of text of one width, for places that draw none."""

import unicodedata
from collections.abc import Sequence


def width(text: str) -> int:
    """Cells of a terminal: wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def pad(text: str, cells: int) -> str:
    return text + " " * (cells - width(text))


def widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The widest cell of each column; every row as long as the first."""
    return [max(width(cell) for cell in column) for column in zip(*rows, strict=True)]


def align(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Header, rule and rows, two spaces between columns, no blanks at line ends."""
    cells = widths([header, *rows])
    lines = ["  ".join(pad(c, n) for c, n in zip(row, cells, strict=True)).rstrip() for row in (header, *rows)]
    return [lines[0], "  ".join("─" * n for n in cells), *lines[1:]]
