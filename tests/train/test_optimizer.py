"""What updates the weights: clipping, both optimizers, and their state in a checkpoint."""

from pathlib import Path

import pytest
import torch
from torch import nn

from runner.train.config import TrainConfig
from runner.train.optimizer import Optimizer, orthogonal


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        gen = torch.Generator().manual_seed(1)
        self.gate_up = nn.Parameter(torch.randn(12, 5, generator=gen))
        self.lm_head = nn.Parameter(torch.randn(7, 5, generator=gen))
        self.norm = nn.Parameter(torch.ones(5))


def settings(**given: object) -> TrainConfig:
    nowhere = Path()
    return TrainConfig(target=nowhere, features=nowhere, vocab=nowhere, out=nowhere, **given)  # type: ignore[arg-type]


def give_gradients(model: nn.Module, seed: int) -> list[torch.Tensor]:
    gen = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=gen)
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("shape", [(12, 5), (5, 12), (6, 6)])
def test_an_update_is_made_nearly_orthogonal(shape: tuple[int, int]) -> None:
    matrix = torch.randn(*shape, generator=torch.Generator().manual_seed(3))
    values = torch.linalg.svdvals(orthogonal(matrix))
    assert values.min() > 0.3 and values.max() < 1.4  # as the five steps leave them
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    assert torch.nn.functional.cosine_similarity(orthogonal(matrix).flatten(), (left @ right).flatten(), dim=0) > 0.9


def test_muon_turns_the_layers_matrices_and_leaves_head_and_norms_to_adamw() -> None:
    muon, adamw = Two(), Two()
    optimizers = [Optimizer(m, settings(optimizer=o)) for m, o in ((muon, "muon"), (adamw, "adamw"))]
    before = muon.gate_up.detach().clone()
    for model, optimizer in zip((muon, adamw), optimizers, strict=True):
        give_gradients(model, 0)
        optimizer.step(0.01)
    assert torch.equal(muon.lm_head, adamw.lm_head) and torch.equal(muon.norm, adamw.norm)
    change = muon.gate_up.detach() - before
    assert torch.linalg.svdvals(change / (0.01 * 0.2 * 12**0.5)).max() < 1.4
    assert not torch.equal(muon.gate_up, adamw.gate_up)


def test_gradients_are_clipped_to_their_common_norm() -> None:
    model = Two()
    optimizer = Optimizer(model, settings(clip=0.5))
    given = give_gradients(model, 0)
    norm = optimizer.step(0.01)
    wanted = torch.cat([gradient.flatten() for gradient in given]).norm()
    assert torch.isclose(norm, wanted)
    first = optimizer.adam.state[model.norm]["exp_avg"] / (1 - 0.9)
    assert torch.allclose(first, given[2] * 0.5 / wanted, rtol=1e-4)


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_state_taken_back_continues_identically(name: str) -> None:
    whole, cut = Two(), Two()
    first = Optimizer(whole, settings(optimizer=name))
    give_gradients(whole, 0)
    first.step(0.01)
    second = Optimizer(cut, settings(optimizer=name))
    second.restore({key: value.clone() for key, value in first.tensors()})
    for model, optimizer in ((whole, first), (cut, second)):
        give_gradients(model, 1)
        optimizer.step(0.01)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), cut.parameters(), strict=True))


def test_buffers_that_a_graph_adds_to_are_kept_and_emptied() -> None:
    model = Two()
    optimizer = Optimizer(model, settings())
    give_gradients(model, 0)
    places = [parameter.grad.data_ptr() for parameter in model.parameters() if parameter.grad is not None]
    optimizer.step(0.01, keep_buffers=True)
    assert [p.grad.data_ptr() for p in model.parameters() if p.grad is not None] == places
    assert all(not p.grad.any() for p in model.parameters() if p.grad is not None)
