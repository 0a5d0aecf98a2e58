"""Reading a feature set: mapped, not copied; what does not fit is named."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from runner.dataset import FeatureSet
from runner.protocol.errors import DataError
from tests.capture.conftest import HIDDEN, MadeSet


def test_samples_are_read_as_they_were_written(random_set: MadeSet) -> None:
    features = FeatureSet.open(random_set.out)
    assert features.ids == ["s0", "s1", "s2", "s3", "s4"] and features.num_tokens == [9, 12, 12, 20, 31]
    for number, conversation in enumerate(random_set.conversations):
        sample = features.read(number)
        count = len(conversation.input_ids)
        assert sample.input_ids.tolist() == list(conversation.input_ids)
        assert sample.loss_mask.sum() == conversation.num_supervised == features.num_supervised[number]
        generator = torch.Generator().manual_seed(count)
        assert torch.equal(sample.aux_hidden_states, torch.randn(count, 3 * HIDDEN, generator=generator))
        assert torch.equal(sample.last_hidden_states, torch.randn(count, HIDDEN, generator=generator))


def test_writing_to_a_sample_changes_no_file(random_set: MadeSet) -> None:
    features, path = FeatureSet.open(random_set.out), random_set.file(1)
    before = path.read_bytes()
    sample = features.read(1)
    sample.aux_hidden_states.zero_()
    assert path.read_bytes() == before
    assert not torch.equal(features.read(1).aux_hidden_states, sample.aux_hidden_states)


def test_a_sample_is_read_ahead_as_a_whole(random_set: MadeSet, monkeypatch: pytest.MonkeyPatch) -> None:
    advice: list[tuple[str, int, int, int]] = []

    def advise(handle: int, start: int, length: int, kind: int) -> None:
        advice.append((str(Path(f"/proc/self/fd/{handle}").readlink()), start, length, kind))

    monkeypatch.setattr(os, "posix_fadvise", advise)
    features = FeatureSet.open(random_set.out)
    features.prefetch(3)
    features.read(1)
    whole = (0, 0, os.POSIX_FADV_WILLNEED)
    assert advice == [(str(random_set.file(3)), *whole), (str(random_set.file(1)), *whole)]


def test_tensors_outlive_the_set(random_set: MadeSet) -> None:
    states = FeatureSet.open(random_set.out).read(4).last_hidden_states
    assert torch.isfinite(states).all() and states.shape == (31, HIDDEN)


def test_tokens_alone_and_numbers_by_id(random_set: MadeSet) -> None:
    features = FeatureSet.open(random_set.out)
    ids, mask = features.read_tokens(features.number_of("s3"))
    assert ids.dtype == np.int32 and len(ids) == len(mask) == 20
    with pytest.raises(DataError, match="no sample 'x'"):
        features.number_of("x")


def test_a_missing_or_shortened_file_is_named(random_set: MadeSet) -> None:
    features = FeatureSet.open(random_set.out)
    random_set.file(0).unlink()
    body = random_set.file(2).read_bytes()
    random_set.file(2).write_bytes(body[:-1])
    features.prefetch(0)
    with pytest.raises(DataError, match=r"sample s0 .*missing"):
        features.read(0)
    with pytest.raises(DataError, match=r"sample s2 .*cut short"):
        features.read(2)


def test_a_file_of_another_length_is_named(random_set: MadeSet) -> None:
    random_set.file(0).write_bytes(random_set.file(3).read_bytes())
    with pytest.raises(DataError, match=r"sample s0 .*shape \[20\], expected \[9\]"):
        FeatureSet.open(random_set.out).read(0)


def test_a_table_that_was_changed_is_refused(random_set: MadeSet) -> None:
    table = random_set.out / "samples.jsonl"
    table.write_bytes(table.read_bytes().replace(b'"num_tokens":9', b'"num_tokens":8'))
    with pytest.raises(DataError, match="digest differs"):
        FeatureSet.open(random_set.out)


def test_a_folder_without_manifest_is_no_set(random_set: MadeSet) -> None:
    (random_set.out / "manifest.json").unlink()
    with pytest.raises(DataError, match="no manifest"):
        FeatureSet.open(random_set.out)
