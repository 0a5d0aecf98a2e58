"""What people say and hosts log does no harm: odd text holds nothing up, and secrets reach no post."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.service.outcome import TERMINAL
from tests.scenario.room import Room


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    made.start()
    yield made
    made.down()


def test_half_a_surrogate_from_a_terminal_holds_up_no_order(room: Room) -> None:
    said = room.hear(replace(room.event("thanks for the caf\udce9", thread=room.head()), team=TERMINAL))
    assert room.tell("status") == "shown"
    assert room.outcome(said).startswith("ignored")
