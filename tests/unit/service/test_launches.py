"""What waits for a host is carried out once, however late somebody comes with it."""

import time
from pathlib import Path

import pytest

from bot.core.effects import Kill
from bot.core.stored import StoredEffect
from bot.errors import HostUnreachable
from bot.service.launches import Launches
from runner.protocol.view import AttemptView
from tests.scenario.box import Box
from tests.scenario.desk import desk_of

ATTEMPT = "r0-synth-1"


class Asked(Box):
    """Counts how often it is told to kill; `away` says whether it answers."""

    asked, away = 0, False

    def kill(self, attempt: str, token: str, grace_s: float) -> AttemptView:
        self.asked += 1
        if self.away:
            raise HostUnreachable(self.name, "no answer within 15 s")
        return super().kill(attempt, token, grace_s)


def carry(launches: Launches, stored: StoredEffect) -> None:
    """Carry it out to its end."""
    launches.take(stored)
    while not launches._busy.take(ATTEMPT):
        time.sleep(0.01)
    launches._busy.give(ATTEMPT)


@pytest.mark.parametrize("away", [False, True])
def test_what_was_seen_as_due_before_it_was_done_or_put_off_is_not_done_again(tmp_path: Path, away: bool) -> None:
    box = Asked("box1")
    box.away = away
    box.views[ATTEMPT] = AttemptView(ATTEMPT, "running", "t0")
    desk = desk_of({"box1": box}, tmp_path)
    desk.store.add_effects("r0", (Kill(key="kill", attempt=ATTEMPT, grace_s=1.0),), desk.clock.now())
    stopped = desk.clock.now()
    desk.clock.now = lambda: stopped  # type: ignore[method-assign]
    [stored] = desk.store.due_effects(stopped)
    launches = Launches(desk, lambda _: None)
    carry(launches, stored)
    carry(launches, stored)
    assert box.asked == 1
    assert launches.close(5)
    desk.store.close()  # type: ignore[attr-defined]
