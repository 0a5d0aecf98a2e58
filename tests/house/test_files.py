"""What holds for every file of the project."""

import os
import re
from pathlib import Path

import pytest

from tests.house.tree import TOP, python_files, source, tracked

# Things of one machine or of one day, which nobody else could follow. Put together here, lest this file names them.
FOREIGN = re.compile(
    "|".join(
        [
            r"(?<![\w.])/wo" + "rk/",
            "shared/" + "(design|data|spi" + "kes|hooks)",
            r"\bissue #\d",
            r"\bspi" + r"kes?/|\bthe spi" + r"kes?\b",  # the word itself is one that people say of a loss
            "/tmp/" + r"team\b",
            r"\b(clau" + r"de|anthro" + r"pic|chat" + r"gpt|copi" + r"lot)\b",
            r"(?-i:\bTO" + r"DO\b|\bFIX" + r"ME\b|\bX" + r"XX\b)",
        ]
    ),
    re.IGNORECASE,
)
# Names of packages and of other people's words: pins, prompts that are shipped as data, licences.
DATA = ("ops/requirements/", "runner/data/", "tests/data/")


def readable(name: str) -> str | None:
    try:
        return (TOP / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def test_nothing_names_a_machine_or_a_passing_thing() -> None:
    found = []
    for name in tracked():
        text = None if name.startswith(DATA) else readable(name)
        for hit in FOREIGN.finditer(text or ""):
            found.append(f"{name}:{hit.string.count(chr(10), 0, hit.start()) + 1} {hit[0]!r}")
    assert not found


@pytest.mark.parametrize("text", ["see /wo" + "rk/main", "as in the spi" + "ke", "TO" + "DO", "issue " + "#2"])
def test_such_a_thing_would_be_found(text: str) -> None:
    assert FOREIGN.search(text)


def test_every_module_says_what_it_is() -> None:
    bare = [name for name in python_files("bot", "runner", "patches", "ops") if source(name).docstring is None]
    assert not bare


def test_first_lines_of_docstrings_are_one_line() -> None:
    def torn(name: str) -> bool:
        head = (source(name).docstring or "").split("\n\n")[0]
        return len(head.splitlines()) > 2

    assert not [name for name in python_files("bot", "runner", "ops") if torn(name)]


def test_scripts_can_be_run() -> None:
    scripts = [name for name in tracked() if (readable(name) or "").startswith("#!")]
    assert {"ops/setup", "ops/test", "ops/check", ".ci/run"} <= set(scripts)
    assert not [name for name in scripts if not os.access(TOP / name, os.X_OK)]


def test_no_large_file_comes_along() -> None:
    assert not [name for name in tracked() if Path(TOP / name).stat().st_size > 4_000_000]
