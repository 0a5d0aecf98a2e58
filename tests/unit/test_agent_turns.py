"""First come, first served among those that cannot run at the same time."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.agent.turns import Waiter, Wants, ahead, collide, place

ALONE, SHARED, LOOK = Wants([], True), Wants([], False), Wants([], None)
SINCE = "2026-01-31T12:00:00.123Z"


def queue(*wants: Wants) -> list[Waiter]:
    return [Waiter(number, f"r{number}", each, SINCE) for number, each in enumerate(wants, 1)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (ALONE, ALONE, True),
        (ALONE, SHARED, True),
        (SHARED, SHARED, False),
        (ALONE, LOOK, False),
        (Wants([0, 1], False), Wants([1, 2], False), True),
        (Wants([0], False), Wants([1], False), False),
        (Wants([0], None), Wants([0], None), True),
        (Wants([0], True), Wants([1], False), True),
    ],
)
def test_who_cannot_run_beside_whom(one: Wants, other: Wants, expected: bool) -> None:
    assert collide(one, other) is collide(other, one) is expected


def test_one_waits_behind_the_last_of_those_in_the_way() -> None:
    waiting = queue(ALONE, SHARED, Wants([3], False), ALONE)
    found = [ahead(waiting, number, waiting[number - 1].wants) for number in (1, 2, 3, 4)]
    assert [each.attempt if each else None for each in found] == [None, "r1", "r1", "r3"]
    new = ahead(waiting, None, SHARED)
    assert new is not None and new.attempt == "r4"
    assert ahead(waiting, None, LOOK) is None and ahead(queue(SHARED), None, SHARED) is None


WANTS = st.builds(Wants, st.lists(st.integers(0, 3), max_size=3), st.sampled_from([True, False]))


@given(st.lists(WANTS, min_size=1, max_size=12))
def test_everybody_gets_a_turn_and_nobody_is_passed_by_whom_he_collides_with(wants: Sequence[Wants]) -> None:
    """Rounds of work: whoever may start does, all of a round end, until nobody waits."""
    waiting, rounds = queue(*wants), []
    while waiting:
        running: list[Waiter] = []
        for each in list(waiting):
            if ahead(waiting, each.number, each.wants) is None and not any(
                collide(each.wants, other.wants) for other in running
            ):
                running.append(each)
                waiting.remove(each)
        assert running, "somebody always has his turn"
        rounds.append(running)
    turn = {each.number: at for at, running in enumerate(rounds) for each in running}
    whole = queue(*wants)
    for one in whole:
        for other in whole:
            if one.number < other.number and collide(one.wants, other.wants):
                assert turn[one.number] < turn[other.number]


def test_a_place_is_told_in_words() -> None:
    waiter = Waiter(1, "r3-bench-1", Wants([1, 0], True), SINCE)
    assert place(waiter) == (
        "behind r3-bench-1, which waits for the host for itself and GPU 0, 1 (since 2026-01-31 12:00 UTC)"
    )
