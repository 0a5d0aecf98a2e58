"""What is exported, and what is refused."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from runner.drafter import (
    captured_indices,
    from_served,
    layer_ids,
    required_shapes,
    served_config,
    shape_complaints,
    to_served,
    write_draft,
)
from runner.export import main as export_main
from runner.protocol.errors import CaptureMismatch, DataError
from runner.train.run import train
from runner.train.shape import shape_of
from runner.vocab import VocabMap
from tests.train import tiny
from tests.train.test_oracle import CASES, World


@pytest.mark.parametrize(
    ("family", "indices", "ids"),
    [
        ("llama", [2, 15, 27], [1, 14, 26]),
        ("qwen3", [2, 18, 33], [1, 17, 32]),
        ("kimi_k25", [3, 31, 59], [3, 31, 59]),
        ("deepseek_v3", [2, 30, 58], [2, 30, 58]),
    ],
)
def test_ids_by_family_yield_the_indices(family: str, indices: list[int], ids: list[int]) -> None:
    assert layer_ids(indices, family) == ids
    assert captured_indices(ids, family) == indices


def test_a_first_id_of_one_is_read_differently_by_deepseek() -> None:
    assert captured_indices([1, 29, 57], "deepseek_v3") == [2, 30, 58]
    with pytest.raises(CaptureMismatch, match="no layer ids"):
        layer_ids([1, 4, 6], "deepseek_v3")


def test_names_and_back() -> None:
    world = World(CASES["heads wider than hidden"])
    vocab = VocabMap(world.kept.numpy(), world.case.vocab)
    served = to_served(dict(world.model.named_parameters()), world.shape, vocab)
    assert {name: tuple(t.shape) for name, t in served.items()} == required_shapes(world.shape)
    back = from_served(served, world.shape)
    assert all(torch.equal(back[name], p) for name, p in world.model.named_parameters())


def test_normed_captures_are_served_as_norms_whose_weights_go_into_fc() -> None:
    world = World(CASES["captured states normed"])
    served = to_served(dict(world.model.named_parameters()), world.shape, VocabMap(world.kept.numpy(), 61))
    assert {name: tuple(t.shape) for name, t in served.items()} == required_shapes(world.shape)
    assert all(torch.equal(served[f"fc_norm.{n}.weight"], torch.ones(24)) for n in range(3))
    assert torch.equal(from_served(served, world.shape)["fc"], world.model.fc)
    weighted = served | {"fc_norm.1.weight": torch.full((24,), 3.0)}  # by a trainer that gives them weights
    ratio = from_served(weighted, world.shape)["fc"] / world.model.fc
    assert torch.allclose(ratio, torch.tensor([1.0, 3.0, 1.0]).repeat_interleave(24).expand(24, 72))


def test_the_config_says_whether_captures_are_normed() -> None:
    shape = World(CASES["captured states normed"]).shape
    assert shape_of(served_config(shape, [1, 2, 3], {}, "float32")) == shape
    plain = World(CASES["one step"]).shape
    assert not shape_of(served_config(plain, [1, 2, 3], {}, "float32")).fc_norm
    for more in ({"norm_output": True}, {"eagle_config": {"norm_before_fc": True}}):
        with pytest.raises(DataError, match="not known here"):
            shape_of(served_config(plain, [1, 2, 3], {}, "float32") | more)


@pytest.mark.parametrize("name", list(required_shapes(World(CASES["one step"]).shape)))
def test_a_missing_tensor_is_named(name: str) -> None:
    shape = World(CASES["one step"]).shape
    found = required_shapes(shape)
    del found[name]
    assert shape_complaints(found, shape) == [f"{name} is missing"]


def test_a_copied_embedding_is_not_wanted() -> None:
    shape = World(CASES["one step"]).shape
    assert shape_complaints({**required_shapes(shape), "embed_tokens.weight": (61, 24)}, shape) == [
        "embed_tokens.weight is not known to SGLang"
    ]


def test_nothing_is_written_when_the_capture_does_not_fit(tmp_path: Path) -> None:
    world = World(CASES["one step"])
    vocab = VocabMap(world.kept.numpy(), world.case.vocab)
    model = dict(world.model.named_parameters())
    with pytest.raises(CaptureMismatch, match="reads 3 captured states"):
        write_draft(
            tmp_path / "draft", model, world.shape, vocab, indices=[2, 5], family="llama", target={}, dtype="float32"
        )
    with torch.no_grad():
        model["o"][0, 0] = float("inf")
    with pytest.raises(DataError, match=r"o_proj\.weight is not finite"):
        write_draft(
            tmp_path / "draft", model, world.shape, vocab, indices=[2, 5, 7], family="llama", target={}, dtype="float32"
        )
    assert list(tmp_path.iterdir()) == []


def test_export_of_a_run_equals_what_training_exported(root: Path) -> None:
    train(tiny.config(root, max_steps=3))
    (root / "train/draft").rename(root / "first")
    assert export_main(["--train", str(root / "train"), "--out", str(root / "train/draft")]) == 0
    ours, theirs = load_file(root / "first/model.safetensors"), load_file(root / "train/draft/model.safetensors")
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)
    shutil.rmtree(root / "train/checkpoints")
    with pytest.raises(DataError, match="no checkpoint"):
        export_main(["--train", str(root / "train"), "--out", str(root / "x")])
