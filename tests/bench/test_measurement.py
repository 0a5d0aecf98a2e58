import pytest

from runner.bench.measurement import Spread, compare_speed, measure_acceptance, measure_tok_s
from tests.bench.made import record


def test_tokens_a_second_are_of_wall_time_not_of_the_sum_of_latencies():
    overlapping = [record(started_s=10.0, ended_s=12.0), record(prompt="p2", started_s=10.0, ended_s=14.0)]
    assert measure_tok_s(overlapping) == 8 / 4.0


def test_acceptance_is_of_all_steps_together_not_a_mean_of_means():
    # 9 tokens in 8 steps (1 draft kept), 4 tokens in 1 step (3 kept): 13 / 9, not (1.125 + 4) / 2
    slow = record("drafted", output_ids=list(range(9)), histogram=[7, 1])
    fast = record("drafted", prompt="p2", histogram=[0, 0, 0, 1])
    found = measure_acceptance([slow, fast], depth=3)
    assert found is not None
    assert found.length == pytest.approx(13 / 9)
    assert found.per_step == pytest.approx(1 + 4 / 9)
    assert (found.verify_steps, found.accepted_drafts) == (9, 4)


def test_short_answers_flatter_the_length_and_not_the_acceptance_of_a_step():
    useless = record("drafted", output_ids=list(range(10)), histogram=[9])
    found = measure_acceptance([useless], depth=3)
    assert found is not None
    assert found.length == pytest.approx(10 / 9)
    assert found.per_step == 1.0


def test_positions_are_conditional_on_the_position_before():
    found = measure_acceptance([record("drafted", histogram=[5, 2, 1, 2])], depth=3)
    assert found is not None
    assert found.by_position == [5 / 10, 3 / 5, 2 / 3]
    assert found.per_step == pytest.approx(1 + 0.5 * (1 + 0.6 * (1 + 2 / 3)))


def test_positions_end_where_no_step_came():
    found = measure_acceptance([record("drafted", histogram=[6, 2])], depth=3)
    assert found is not None
    assert found.by_position == [0.25, 0.0]


def test_nothing_verified_is_no_acceptance():
    assert measure_acceptance([record("drafted")], depth=3) is None


def test_speedup_is_taken_within_a_round_and_is_acceptance_over_cost():
    records = []
    for number, slowness in enumerate((1.0, 3.0, 1.5)):  # the machine drifts; the ratio does not
        records.append(record("baseline", number=number, ended_s=2.0 * slowness))
        records.append(record("drafted", number=number, ended_s=4.0 * slowness, histogram=[0, 2]))
    found = compare_speed(records, 1, depth=3)
    assert found is not None
    assert found.speedup == Spread(median=0.5, min=0.5, max=0.5)
    assert found.baseline_tok_s == Spread(median=4 / 3, min=4 / 6, max=2.0)
    assert found.acceptance_length == 2.0
    assert found.cost_ratio.median == 4.0
    assert found.speedup.median == pytest.approx(found.acceptance_length / found.cost_ratio.median)


def test_a_concurrency_with_one_side_only_is_not_compared():
    records = [record("baseline"), record("drafted", concurrency=4, histogram=[1])]
    assert compare_speed(records, 1, depth=3) is None
    assert compare_speed(records, 4, depth=3) is None
