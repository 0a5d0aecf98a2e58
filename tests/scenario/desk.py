"""A desk without an engine, for parts of the service that are looked at alone."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.adapters.store import open_store
from bot.config import Config
from bot.core.attempt import AttemptState
from bot.service.code import CodeArchive
from bot.service.desk import Desk
from tests.scenario.chat import Chat
from tests.scenario.room import Watch
from tests.unit.core.story import START, Story


def desk_of(hosts: Mapping[str, Any], folder: Path, poll_s: float = 2.0) -> Desk:
    """One running attempt a host."""
    story = Story()
    story.advance()
    story.begin()
    store = open_store(f"sqlite:///{folder}/bot.db")
    for n, name in enumerate(hosts):
        attempt = replace(story.last(), id=f"r{n}-synth-1", host=name, token=f"t{n}", state=AttemptState.RUNNING)
        stages = (replace(story.run.stages[0], attempts=(attempt,)), *story.run.stages[1:])
        store.add_run(replace(story.run, id=f"r{n}", stages=stages), n, [], START)
    body = {
        "version": 1,
        "slack": {"channel": "C1"},
        "hosts": {name: {"kind": "ssh", "poll_s": poll_s} for name in hosts},
        "pipelines": ["none.yaml"],
    }
    return Desk(
        config=Config.model_validate(body),
        pipelines={"eagle": story.pipeline},
        store=store,
        hosts=hosts,
        poster=Chat(),
        clock=Watch(),
        code=CodeArchive(b"", "d1"),
        members=lambda _: frozenset(),
    )
