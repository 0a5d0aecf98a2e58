"""The draft vocabulary and its two maps."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.protocol.errors import DataError
from runner.vocab import VocabMap, choose, count_supervised, disagreement


@settings(max_examples=50)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=80), st.data())
def test_maps_are_two_views_of_one_choice(counts: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(counts)))
    vocab = choose(np.array(counts), size)
    assert len(vocab.kept) == size == int(vocab.t2d.sum())
    assert np.array_equal(np.flatnonzero(vocab.t2d), vocab.d2t + np.arange(size))
    assert disagreement(vocab.d2t, vocab.t2d) is None
    outside = np.array(counts)[~vocab.t2d]
    assert not outside.size or np.array(counts)[vocab.kept].min() >= outside.max()


def test_unused_low_ids_fill_what_frequency_leaves_open() -> None:
    counts = np.zeros(10, dtype=np.int64)
    counts[[7, 9]] = 5, 3
    assert choose(counts, 4).kept.tolist() == [0, 1, 7, 9]


def test_only_supervised_tokens_count() -> None:
    samples = [(np.array([1, 2, 2, 3]), np.array([0, 1, 1, 0], dtype=np.uint8))]
    assert count_supervised(samples, 5).tolist() == [0, 0, 2, 0, 0]


def test_an_id_outside_the_vocabulary_is_an_error() -> None:
    with pytest.raises(DataError, match="token id 9 in a vocabulary of 5"):
        count_supervised([(np.array([1, 9]), np.array([1, 1], dtype=np.uint8))], 5)


@pytest.mark.parametrize(
    ("d2t", "t2d", "said"),
    [
        (np.array([1, 3]), np.array([0, 1, 0, 1], dtype=bool), "offsets"),
        (np.array([1, 1]), np.array([0, 1, 0, 1], dtype=bool), "first at draft id 1"),
        (np.array([1]), np.array([0, 1, 0, 1], dtype=bool), "keeps 2 tokens, d2t has 1"),
        (np.array([1, 2], dtype=np.int32), np.array([0, 1, 0, 1], dtype=bool), "not int64"),
        (np.array([1, 2]), np.array([0, 1, 0, 1]), "not bool"),
    ],
)
def test_maps_that_disagree_are_told_apart(d2t: np.ndarray, t2d: np.ndarray, said: str) -> None:
    assert said in str(disagreement(d2t, t2d))


def test_saved_and_loaded(tmp_path: Path) -> None:
    vocab = choose(np.array([5, 0, 3, 9]), 3)
    vocab.save(tmp_path)
    loaded = VocabMap.load(tmp_path)
    assert loaded.kept.tolist() == [0, 2, 3] and loaded.vocab_size == 4 and loaded.digest == vocab.digest


def test_no_map_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no vocabulary map") as raised:
        VocabMap.load(tmp_path)
    assert raised.value.hint == "run vocab first"
