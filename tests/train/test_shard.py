"""Weights and optimizer state shared between two gloo ranks: one rank's losses, whole checkpoints, half the bytes."""

import shutil
from pathlib import Path

import pytest
import torch

from runner import vocab
from runner.protocol.errors import StageError
from runner.protocol.files import read_json
from runner.train.ranks import Ranks
from runner.train.run import train
from runner.train.spread import Sharded
from tests.train import tiny
from tests.train.test_loop import equal, losses, weights
from tests.train.test_ranks import run_on, stop_one_rank

# of a loss after up to twenty updates in fp32: gradients and norms are sums in another order, no more
CLOSE = 2e-6


@pytest.fixture
def odd(root: Path) -> Path:
    """87 tokens in the draft vocabulary: odd, and 32 rows of hidden size divide by two and not by three."""
    (root / "vocab").unlink()
    assert vocab.main(["--features", str(root / "features"), "--out", str(root / "vocab"), "--draft-vocab", "87"]) == 0
    return root


def check_close(found: dict[int, float], wanted: dict[int, float], steps: int) -> None:
    assert found.keys() == wanted.keys() and len(found) == steps
    assert max(abs(found[step] - wanted[step]) / wanted[step] for step in wanted) < CLOSE


@pytest.mark.slow
@pytest.mark.parametrize(("size", "optimizer"), [(2, "adamw"), (2, "muon"), (3, "muon")])
def test_sharded_ranks_have_one_ranks_losses_and_their_share_of_its_bytes(odd: Path, size: int, optimizer: str) -> None:
    """Twenty steps of four packs: two ranks add theirs up before they sum, of three two have an empty one each step."""
    settings = {"packs_per_step": 4, "max_steps": 20, "epochs": 50.0, "optimizer": optimizer, "weight_decay": 0.1}
    train(tiny.config(odd, **settings))
    alone, (all_bytes,) = losses(odd), read_json(str(odd / "train/result.json"))["held_bytes"]
    (odd / "train").rename(odd / "alone")
    run_on(odd, size, shard="full", **settings)
    check_close(losses(odd), alone, 20)
    held = read_json(str(odd / "train/result.json"))["held_bytes"]
    assert len(held) == size and len(set(held)) > 1, "the rows do not divide evenly"
    assert all(abs(own - all_bytes / size) < 0.1 * all_bytes for own in held)
    assert all_bytes <= sum(held) <= 1.01 * all_bytes  # a step count each


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ways", "optimizer"),
    [(("full", 2, "none", 1), "muon"), (("none", 1, "full", 2), "muon"), (("full", 2, "none", 2), "adamw")],
)
def test_a_checkpoint_of_either_is_taken_up_by_the_other(
    odd: Path, ways: tuple[str, int, str, int], optimizer: str
) -> None:
    settings = {"packs_per_step": 2, "max_steps": 10, "epochs": 50.0, "optimizer": optimizer, "keep_last": 9}
    first, first_size, second, second_size = ways
    run_on(odd, first_size, shard=first, checkpoint_every=5, **settings)
    whole = losses(odd)
    for path in (odd / "train/checkpoints").glob("step-*"):
        if not path.stem.endswith("05"):
            path.unlink()
    run_on(odd, second_size, shard=second, **settings)
    check_close(losses(odd), whole, 10)


@pytest.mark.slow
def test_a_signal_to_one_saves_and_the_rest_is_the_same_on_two_and_close_on_one(odd: Path) -> None:
    settings = {"packs_per_step": 2, "epochs": 8.0, "checkpoint_every": 5, "keep_last": 1000, "shard": "full"}
    stop_one_rank(odd, **settings)
    shutil.copytree(odd / "train", odd / "stopped")
    run_on(odd, 2, **settings)
    resumed, steps = losses(odd), read_json(str(odd / "train/result.json"))["steps"]
    on_two = weights(odd)
    (odd / "train").rename(odd / "resumed")
    (odd / "stopped").rename(odd / "train")
    run_on(odd, 1, **settings)
    check_close(losses(odd), resumed, steps)
    (odd / "train").rename(odd / "one")
    run_on(odd, 2, **settings)
    assert losses(odd) == resumed and equal(on_two, weights(odd)), "to the bit on as many ranks"


def test_graphs_and_shards_exclude_each_other(root: Path) -> None:
    with pytest.raises(StageError, match="--graphs on"):
        tiny.config(root, shard="full", graphs="on")


@pytest.mark.parametrize("size", [2, 3, 5])
def test_rows_are_cut_as_torch_cuts_them(size: int) -> None:
    """Restoring takes the rows that fully_shard gave a rank: every row once, some ranks perhaps none."""
    whole = torch.arange(12).view(6, 2)
    spread = object.__new__(Sharded)
    parts = []
    for rank in range(size):
        spread.ranks = Ranks(rank, size, torch.device("cpu"))
        parts.append(spread.rows(whole))
    assert torch.equal(torch.cat(parts), whole) and len(parts[-1]) == {2: 3, 3: 2, 5: 0}[size]
