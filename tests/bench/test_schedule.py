import itertools

import pytest

from runner.bench.schedule import plan_passes


def _sides(passes):
    return [turn.side[0] for turn in passes]


def test_each_side_goes_first_as_often_as_the_other():
    passes = plan_passes(4, (1,), together=True)
    assert _sides(passes) == ["b", "d", "d", "b", "b", "d", "d", "b"]


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("together", [True, False])
def test_every_side_does_every_round_at_every_concurrency_once_and_the_baseline_is_last(rounds, together):
    passes = plan_passes(rounds, (1, 4), together)
    assert len(passes) == len(set(passes)) == 2 * 2 * rounds
    assert passes[-1].side == "baseline"


def test_together_alternates_within_a_concurrency():
    passes = plan_passes(1, (1, 4), together=True)
    assert [(turn.side, turn.concurrency) for turn in passes] == [
        ("drafted", 1), ("baseline", 1), ("drafted", 4), ("baseline", 4)
    ]  # fmt: skip


def test_alternating_starts_each_server_as_rarely_as_the_order_allows():
    passes = plan_passes(3, (1, 4), together=False)
    starts = [side for side, _ in itertools.groupby(turn.side for turn in passes)]
    assert starts == ["drafted", "baseline", "drafted", "baseline"]
