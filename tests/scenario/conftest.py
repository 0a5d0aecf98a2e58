"""Worlds and rooms for scenarios: each its own chat, bot and host."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bot.workspace import running_workspace
from tests.scenario.room import Room
from tests.scenario.world import World, pipeline

MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    """`make_world(stages=pipeline(...), **config)`; the bot is ended with the test."""
    with running_workspace() as control, ExitStack() as ends:

        def make(stages: dict[str, Any] | None = None, **config: Any) -> World:
            made = World(tmp_path, control, stages or pipeline(), **config)
            ends.callback(made.down)
            return made

        yield make


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    """The bot is up and a run is planned."""
    made = make_world()
    made.up()
    made.say("<@U0BOT> start quick")
    made.head()
    return made


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """The engine is up and r1 is planned."""
    made = Room(tmp_path)
    made.start()
    yield made
    made.down()
