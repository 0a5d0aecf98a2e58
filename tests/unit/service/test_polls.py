"""What polls pass on, and in which order."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.core import events
from bot.service.polls import Polls
from runner.protocol.view import AttemptView, Gpu, HostView, PollAsk
from tests.scenario.box import Box
from tests.scenario.desk import desk_of


class Busy(Box):
    """A host with two GPUs; of the second nothing is known."""

    def poll(self, asks: Sequence[PollAsk]) -> HostView:
        view = super().poll(asks)
        gpus = [Gpu(0, "H200", 1, 2, 93.0), Gpu(1, "H200", 0, 2, None)]
        return replace(view, facts=replace(view.facts, gpus=gpus))


def test_a_poll_tells_how_busy_the_gpus_are(tmp_path: Path) -> None:
    box = Busy("box1")
    desk = desk_of({"box1": box}, tmp_path)
    box.views["r0-synth-1"] = AttemptView("r0-synth-1", "running", "t0")
    told: list[Any] = []
    desk.apply = lambda run_id, event, **_: told.append(event)  # type: ignore[assignment, method-assign]
    polls = Polls(desk)
    polls.refresh(desk.store.run("r0"))
    [event] = told
    assert isinstance(event, events.Seen) and dict(event.gpu_percent) == {0: 93.0}
    assert polls.close(1)
    desk.store.close()  # type: ignore[attr-defined]


class Overtaken(Box):
    """The first answer is on its way until `arrives` is set."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.asked, self.arrives = threading.Event(), threading.Event()

    def poll(self, asks: Sequence[PollAsk]) -> HostView:
        view = super().poll(asks)
        if not self.asked.is_set():
            self.asked.set()
            self.arrives.wait(10)
        return view


def test_an_answer_that_a_later_look_has_overtaken_changes_nothing(tmp_path: Path) -> None:
    box = Overtaken("box1")
    desk = desk_of({"box1": box}, tmp_path)
    told: list[Any] = []
    desk.apply = lambda run_id, event, **_: told.append(event.view.state)  # type: ignore[assignment, method-assign]
    polls, run = Polls(desk), desk.store.run("r0")
    box.views["r0-synth-1"] = AttemptView("r0-synth-1", "queued", "t0")
    first = threading.Thread(target=polls.refresh, args=[run])
    first.start()
    assert box.asked.wait(10)
    box.views["r0-synth-1"] = AttemptView("r0-synth-1", "running", "t0")
    polls.refresh(run)
    box.arrives.set()
    first.join(10)
    polls.refresh(run)
    assert told == ["running", "running"]
    assert polls.close(1)
    desk.store.close()  # type: ignore[attr-defined]
