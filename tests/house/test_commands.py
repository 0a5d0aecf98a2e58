"""Commands that people are told of exist and explain themselves."""

import contextlib
import importlib
import io
import re
from pathlib import Path

import pytest

from bot import __main__ as bot
from bot.pipeline import load_pipeline
from tests.house.tree import TOP, tracked

PAGES = [name for name in tracked() if name.endswith(".md") and name.partition("/")[0] in ("README.md", "ops", "docs")]
PIPELINES = [name for name in tracked() if re.fullmatch(r"ops/pipelines/.*\.ya?ml", name)]
SCRIPT = re.compile(r"(?<![\w/.])(ops/[\w/.-]*\w)")
VERB = re.compile(r"python -m bot ([a-z]+)")


def help_of(verb: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit) as ended:
        importlib.import_module(f"bot.cli.{verb}").main(["--help"])
    assert ended.value.code == 0
    return said.getvalue()


@pytest.mark.parametrize("verb", bot.VERBS)
def test_a_verb_explains_itself(verb: str) -> None:
    assert help_of(verb).startswith(f"usage: python -m bot {verb}")


def test_verbs_and_files_are_the_same_set() -> None:
    shared = {"__init__", "arguments", "wiring", "render", "ending", "hearing", "missed", "check_slurm", "logs"}
    assert {path.stem for path in (TOP / "bot/cli").glob("*.py")} - shared == set(bot.VERBS)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_tells_to_run_exists(page: str) -> None:
    text = Path(TOP / page).read_text(encoding="utf-8")
    assert not [name for name in SCRIPT.findall(text) if not (TOP / name).exists()]
    assert not [verb for verb in VERB.findall(text) if verb not in bot.VERBS]


@pytest.mark.parametrize("name", PIPELINES)
def test_a_shipped_pipeline_loads(name: str) -> None:
    assert load_pipeline(TOP / name).stages
