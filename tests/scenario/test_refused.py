"""A refused launch is told only once it is certain that nothing runs and nothing will: no retry makes two of it."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.core.attempt import AttemptState
from bot.core.effects import Launch
from bot.core.model import Phase
from bot.errors import HostUnreachable, LaunchFailed
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import AttemptView, HostView, PollAsk
from tests.scenario.chat import text
from tests.scenario.room import Room

Launching = Callable[[AttemptSpec, Mapping[str, str]], AttemptView]
FIRST = "r1-synth-1"


class Tries:
    """What becomes of each try to launch, in order; after them launches are as ever. Counts the tries."""

    def __init__(self, room: Room, monkeypatch: pytest.MonkeyPatch, *fates: Callable[[Launching], Launching]) -> None:
        self.made, self._real, self._fates = 0, room.box.launch, fates
        monkeypatch.setattr(room.box, "launch", self)

    def __call__(self, spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        self.made += 1
        if self.made > len(self._fates):
            return self._real(spec, secrets)
        return self._fates[self.made - 1](self._real)(spec, secrets)


def refused(kind: str) -> Callable[[Launching], Launching]:
    def fate(_: Launching) -> Launching:
        def launch(spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
            raise LaunchFailed("box1", f"it says {kind}", kind)

        return launch

    return fate


def answer_lost(real: Launching) -> Launching:
    """It is launched, and the link breaks before the answer."""

    def launch(spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        real(spec, secrets)
        raise HostUnreachable("box1", "the link broke after the start")

    return launch


def lost(_: Launching) -> Launching:
    """Nobody knows whether it came there. It did not."""

    def launch(spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        raise HostUnreachable("box1", "no answer within 15 s")

    return launch


def is_(room: Room, state: AttemptState, attempt: str = FIRST) -> None:
    room.until(lambda: room.run().attempt(attempt).state is state or None, f"{attempt} is {state.value}")


def settled(room: Room) -> None:
    """Until no launch waits to be carried out."""
    room.until(lambda: not [e for e in room.store.pending_effects() if isinstance(e.effect, Launch)] or None, "settled")


def test_a_repeat_that_is_refused_says_nothing_of_what_was_seen_to_run(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def and_much_later(real: Launching) -> Launching:
        """The next try is due in an hour: what is there is seen before it."""
        room.pass_time(3600)
        return answer_lost(real)

    def put_off() -> bool:
        soon = room.clock.now() - timedelta(minutes=30)
        return any(e.begun and e.tries and e.not_before > soon for e in room.store.pending_effects())

    tries = Tries(room, monkeypatch, and_much_later, refused("no-space"))
    room.tell("go")
    room.until(put_off, "the launch is to be repeated")
    room.pass_time(-3600)
    is_(room, AttemptState.RUNNING)
    room.pass_time(3700)
    settled(room)
    assert (room.run().phase, room.run().attempt(FIRST).state) == (Phase.RUNNING, AttemptState.RUNNING)
    assert room.box.works() == [FIRST] and room.box.views[FIRST].state == "running"
    assert tries.made == 1, "what was seen is not launched again"


@pytest.mark.parametrize("kind", ["no-space", "failed", "busy", "no-code"])
def test_a_repeat_that_is_refused_before_anybody_looked_finds_what_the_first_one_started(
    room: Room, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    poll = room.box.poll

    def blind(asks: Sequence[PollAsk]) -> HostView:
        if tries.made < 2:
            raise HostUnreachable("box1", "no answer within 15 s")
        return poll(asks)

    tries = Tries(room, monkeypatch, answer_lost, refused(kind))
    monkeypatch.setattr(room.box, "poll", blind)
    room.tell("go")
    is_(room, AttemptState.RUNNING)
    settled(room)
    assert tries.made == 2 and room.run().phase is Phase.RUNNING
    assert room.box.works() == [FIRST] and room.box.views[FIRST].state == "running", "and nobody ended it"


def test_what_is_refused_after_a_lost_try_is_marked_first_so_that_the_lost_one_starts_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: list[str] = []

    def kill(attempt: str, token: str, grace_s: float) -> AttemptView:
        assert room.run().phase is Phase.RUNNING, "before anybody is told"
        marks.append(attempt)
        return AttemptView(attempt, "cancelled", token)

    Tries(room, monkeypatch, lost, refused("no-space"))
    monkeypatch.setattr(room.box, "kill", kill)
    room.tell("go")
    room.until_phase("failed")
    assert marks == [FIRST] and room.run().attempt(FIRST).state is AttemptState.REFUSED
    told = text(room.shown("/failed").card)
    assert "it says no-space" in told and "Nothing was started" in told
    assert room.tell("retry").startswith("done: retry")
    room.until(lambda: room.box.works() == ["r1-synth-2"] or None, "the retry starts it, once")


@pytest.mark.slow
def test_a_host_that_cannot_mark_it_leaves_the_state_unknown(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(attempt: str, token: str, grace_s: float) -> AttemptView:
        raise LaunchFailed("box1", "no space to write the order", "disk-full")

    Tries(room, monkeypatch, lost, refused("no-space"))
    monkeypatch.setattr(room.box, "kill", kill)
    room.tell("go")
    room.until(lambda: room.box.works() == [FIRST] or None, "it is tried again")
    is_(room, AttemptState.RUNNING)
    assert room.run().phase is Phase.RUNNING
    assert not [said for said in room.chat.said if "Nothing was started" in text(said.card)]


def test_another_launch_that_has_not_finished_is_no_refusal(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = Tries(room, monkeypatch, refused("busy"))
    room.tell("go")
    is_(room, AttemptState.RUNNING)
    assert tries.made == 2 and room.run().phase is Phase.RUNNING and room.box.works() == [FIRST]


@pytest.mark.slow
def test_a_first_launch_that_comes_late_is_the_one_that_counts(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(real: Launching) -> Launching:
        def launch(spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
            room.box.views[spec.attempt] = AttemptView(spec.attempt, "queued", spec.token, why="being launched")

            def starts() -> None:
                room.box.launches.append(spec)
                room.box.views[spec.attempt] = AttemptView(spec.attempt, "running", spec.token, pid=4001)

            threading.Timer(2.0, starts).start()
            raise HostUnreachable("box1", "no answer within 15 s")

        return launch

    Tries(room, monkeypatch, late, refused("busy"))
    room.tell("go")
    is_(room, AttemptState.QUEUED)
    is_(room, AttemptState.RUNNING)
    settled(room)
    assert room.run().phase is Phase.RUNNING and room.box.works() == [FIRST]
    assert not [said for said in room.chat.said if "Nothing was started" in text(said.card)]


def test_a_launch_that_was_broken_off_and_is_repeated_is_not_lost_meanwhile(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    comes, goes = threading.Event(), threading.Event()

    def broken_off(_: Launching) -> Launching:
        def launch(spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
            room.box.views[spec.attempt] = AttemptView(spec.attempt, "queued", spec.token, why="being launched")
            raise HostUnreachable("box1", "no answer within 15 s")

        return launch

    def slow(real: Launching) -> Launching:
        def launch(spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
            del room.box.views[spec.attempt]
            comes.set()
            goes.wait(15)
            return real(spec, secrets)

        return launch

    Tries(room, monkeypatch, broken_off, slow)
    room.tell("go")
    is_(room, AttemptState.QUEUED)
    assert comes.wait(15)
    asked = room.box.polled
    room.until(lambda: room.box.polled >= asked + 3 or None, "it is looked for, and is not there")
    goes.set()
    is_(room, AttemptState.RUNNING)
    assert room.run().phase is Phase.RUNNING and room.box.works() == [FIRST]


def test_a_refusal_of_the_first_try_is_told_at_once_and_marks_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = Tries(room, monkeypatch, refused("no-space"))
    monkeypatch.setattr(room.box, "kill", None)
    room.tell("go")
    room.until_phase("failed")
    assert tries.made == 1 and "it says no-space" in text(room.shown("/failed").card)


def test_a_supervisor_without_a_word_is_told_as_refused_only_once_it_is_marked(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: list[str] = []

    def kill(attempt: str, token: str, grace_s: float) -> AttemptView:
        marks.append(attempt)
        return AttemptView(attempt, "cancelled", token)

    Tries(room, monkeypatch, refused("failed"))
    monkeypatch.setattr(room.box, "kill", kill)
    room.tell("go")
    room.until_phase("failed")
    assert marks == [FIRST]


def test_what_started_between_the_look_and_the_mark_is_told_as_ended_not_as_never_started(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(attempt: str, token: str, grace_s: float) -> AttemptView:
        view = AttemptView(attempt, "running", token, pid=77, started_at="2026-01-01T00:00:00Z")
        room.box.views[attempt] = replace(view, state="cancelled")
        return room.box.views[attempt]

    Tries(room, monkeypatch, lost, refused("no-space"))
    monkeypatch.setattr(room.box, "kill", kill)
    room.tell("go")
    room.until_phase("cancelled")
    assert room.run().attempt(FIRST).state is AttemptState.CANCELLED
