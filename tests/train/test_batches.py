"""Plans and packs: every sample once, in an order that only seed and epoch decide."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.train.batches import Sample, plan_epoch, read_pack, split
from runner.train.layout import count_slots, lay_out, step_slots, useful_rows


@settings(max_examples=100)
@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=60), st.integers(0, 5), st.integers(0, 5),
    st.integers(1, 500), st.integers(1, 4),
)  # fmt: skip
def test_an_epoch_takes_every_sample_once(lengths: list[int], seed: int, epoch: int, tokens: int, packs: int) -> None:
    numbers = list(range(len(lengths)))
    plan = plan_epoch(numbers, lengths, seed, epoch, tokens, packs)
    assert plan == plan_epoch(numbers, lengths, seed, epoch, tokens, packs)
    flat = [pack for step in plan for pack in step]
    assert sorted(number for pack in flat for number in pack) == numbers
    assert all(sum(lengths[n] for n in pack) <= tokens or len(pack) == 1 for pack in flat)
    assert all(len(step) == packs for step in plan[:-1])


def test_epochs_and_seeds_differ() -> None:
    plans = [plan_epoch(range(50), [1] * 50, seed, epoch, 10, 1) for seed in (0, 1) for epoch in (0, 1)]
    assert all(plans[i] != plans[j] for i in range(4) for j in range(i))


def test_split_is_fixed_by_the_seed_and_leaves_out_what_has_no_supervision() -> None:
    counts = [3, 0, 1, 4, 0, 2, 2, 9]
    train, held = split(counts, 0.3, 7)
    assert (train, held) == split(counts, 0.3, 7)
    assert sorted(train + held) == [0, 2, 3, 5, 6, 7] and len(held) == 2
    assert split(counts, 0.0, 7)[1] == []
    assert split([5], 0.5, 0) == ([0], [])


masks = st.lists(st.lists(st.sampled_from([0, 1]), min_size=2, max_size=30), min_size=1, max_size=5)


@settings(max_examples=100)
@given(masks, st.integers(1, 7))
def test_layout_against_a_plain_count(given_masks: list[list[int]], steps: int) -> None:
    """Slot t of step k is supervised when row t + 1 + k is; active slots hold them all."""
    cut = [np.array(m[: useful_rows(np.array(m))], dtype=np.uint8) for m in given_masks]
    cut = [mask for mask in cut if len(mask)]
    layout = lay_out(cut, steps)
    kept = torch.ones(len(layout.supervised_R), dtype=torch.bool)
    slots_KR, there_KR = step_slots(layout.slot_R, layout.place_R, steps)
    for step in range(steps):
        wanted = sorted(
            start + t for start, mask in zip(layout.row_starts, cut, strict=False)
            for t in range(len(mask)) if t + 1 + step < len(mask) and mask[t + 1 + step]
        )  # fmt: skip
        slots, rows = slots_KR[step][there_KR[step]], layout.supervised_R[there_KR[step]]
        assert sorted(layout.active_A[slots].tolist()) == wanted
        assert (rows == layout.active_A[slots] + step + 1).all()
        assert count_slots(layout.place_R, kept, steps)[step] == len(wanted)
    assert (layout.slot_of_N[layout.active_A] == torch.arange(layout.num_active)).all()
    assert int((layout.slot_of_N >= 0).sum()) == layout.num_active


def test_a_pack_tells_what_followed_each_supervised_row() -> None:
    ids = np.array([4, 5, 6, 7, 8], dtype=np.int32)

    class One:
        ids = ("a",)
        num_tokens = (5,)
        num_supervised = (2,)

        def __init__(self, mask: list[int]) -> None:
            self.mask = np.array(mask, dtype=np.uint8)

        def read(self, number: int) -> Sample:
            return Sample(input_ids=ids, loss_mask=self.mask, aux=torch.zeros(5, 3), last=torch.arange(5.0)[:, None])

    cut = read_pack(One([0, 0, 1, 1, 0]), [0], 2, 0, skip_bad=False)
    assert cut.input_ids_N.tolist() == [4, 5, 6, 7] and cut.following_R.tolist() == [7, 8]
    assert cut.last_RH.flatten().tolist() == [2.0, 3.0]
    whole = read_pack(One([0, 0, 0, 1, 1]), [0], 2, 0, skip_bad=False)
    assert whole.following_R.tolist() == [8, -1]
    shortened = read_pack(One([0, 0, 1, 1, 1]), [0], 2, 3, skip_bad=False)
    assert shortened.num_tokens == 3 and shortened.input_ids_N.tolist() == [4, 5, 6]


@pytest.mark.parametrize("mask", [[0, 0, 0], [1, 0, 0], [1]])
def test_rows_without_anything_to_supervise(mask: list[int]) -> None:
    assert useful_rows(np.array(mask, dtype=np.uint8)) == 0
