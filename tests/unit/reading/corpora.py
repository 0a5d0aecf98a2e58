"""The labelled messages, read once."""

import json
from functools import cache
from pathlib import Path

from bot.core.reading.score import Labelled, parse_corpus

CHAT = Path(__file__).parents[2] / "data" / "chat"


@cache
def codes() -> dict[str, str]:
    return dict(json.loads((CHAT / "contexts.json").read_text(encoding="utf-8")))


@cache
def labelled(name: str) -> tuple[Labelled, ...]:
    return tuple(parse_corpus((CHAT / name).read_text(encoding="utf-8"), codes()))


def lines(name: str) -> list[str]:
    return [line.replace("\\n", "\n") for line in (CHAT / name).read_text(encoding="utf-8").splitlines() if line]
