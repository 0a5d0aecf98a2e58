import pytest

from runner.bench.answers import (
    Agreement,
    Divergence,
    count_identical_answers,
    count_identical_prompts,
    find_divergences,
    first_difference,
    reference_answers,
)
from tests.bench.made import record


@pytest.mark.parametrize(
    ("expected", "found", "position"),
    [([1, 2, 3], [1, 2, 3], None), ([1, 2, 3], [1, 9, 3], 1), ([1, 2], [1, 2, 3], 2), ([1, 2], [], 0), ([], [], None)],
)
def test_first_difference(expected, found, position):
    assert first_difference(expected, found) == position


def test_the_reference_is_the_baselines_first_round_at_its_lowest_concurrency():
    records = [
        record(number=1, output_ids=[1]),
        record(number=0, concurrency=4, output_ids=[2]),
        record(number=0, output_ids=[3]),
        record("drafted", output_ids=[4]),
    ]
    assert reference_answers(records) == {"p1": [3]}


def test_a_prompt_counts_as_identical_only_when_every_drafted_answer_is():
    records = [
        record(),
        record(prompt="p2"),
        record("drafted"),
        record("drafted", prompt="p2"),
        record("drafted", prompt="p2", number=1, output_ids=[5, 6, 7, 9]),
    ]
    assert count_identical_prompts(records) == Agreement(identical=1, total=2)
    assert count_identical_answers(records, "drafted", 1) == Agreement(identical=2, total=3)


def test_the_baselines_own_repeats_are_counted_too():
    records = [record(), record(number=1, output_ids=[5, 6, 7, 9])]
    assert count_identical_answers(records, "baseline", 1) == Agreement(identical=1, total=2)


def test_equal_divergences_are_one_with_a_count():
    records = [record(), *(record("drafted", number=n, output_ids=[5, 6, 1, 2]) for n in range(3))]
    records.append(record("drafted", number=3, output_ids=[5, 6, 2, 2]))
    assert find_divergences(records) == [
        Divergence(prompt="p1", side="drafted", concurrency=1, position=2, expected=7, found=1, answers=3),
        Divergence(prompt="p1", side="drafted", concurrency=1, position=2, expected=7, found=2, answers=1),
    ]


def test_an_answer_that_ends_early_diverges_at_its_end():
    (found,) = find_divergences([record(), record("drafted", output_ids=[5, 6])])
    assert (found.position, found.expected, found.found) == (2, 7, None)


def test_a_near_tie_needs_both_tokens_near_the_best():
    def made(*logprobs):
        return Divergence(prompt="p", side="drafted", concurrency=1, position=0, expected=1, found=2, logprobs=logprobs)

    assert made(-1.0, -1.1, -1.0).to_json(0.25)["near_tie"] is True
    assert made(-1.0, -4.0, -1.0).to_json(0.25)["near_tie"] is False
    assert made(-4.0, -4.0, -0.1).to_json(0.25)["near_tie"] is False  # equal to each other, far from the best
    unasked = Divergence(prompt="p", side="drafted", concurrency=1, position=0, expected=1, found=2)
    assert unasked.to_json(0.25)["near_tie"] is None
