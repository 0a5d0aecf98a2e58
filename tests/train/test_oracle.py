"""The fast path against the plain one: every step's loss and every gradient."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from runner.drafter import from_served, to_served
from runner.train.batches import Sample, read_pack
from runner.train.graphs import Graphs
from runner.train.layout import count_slots
from runner.train.loss import ttt_loss
from runner.train.measure import Choices, Placed, Target, place
from runner.train.model import DraftModel
from runner.train.rope import frequencies
from runner.train.shape import DraftShape, Rope
from runner.train.teacher import TargetHead
from runner.vocab import VocabMap
from tests.train import oracle


@dataclass(frozen=True)
class Case:
    """One size of everything. Masks: spans of supervised tokens, one list a conversation."""

    lengths: tuple[int, ...]
    masks: tuple[tuple[tuple[int, int], ...], ...]
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 8
    hidden: int = 24
    inner: int = 40
    vocab: int = 61
    draft_vocab: int = 17
    ttt: int = 4
    scaling: dict[str, Any] = field(default_factory=dict)
    fc_norm: bool = False
    temperature: float = 1.0


CASES = {
    "one conversation, a long answer": Case((23,), (((9, 23),),)),
    "pack of odd lengths": Case((7, 31, 12), (((2, 7),), ((5, 11), (17, 31)), ((11, 12),))),
    "several turns, the last one cut": Case((40,), (((3, 9), (14, 20), (33, 40)),)),
    "answer from the first token": Case((13, 5), (((0, 13),), ((0, 5),))),
    "shorter than ttt_length": Case((3, 2, 5), (((1, 3),), ((1, 2),), ((2, 5),)), ttt=7),
    "seven steps, every head its own keys": Case((19, 11), (((4, 19),), ((5, 11),)), kv_heads=4, ttt=7),
    "one key head for all": Case((17,), (((4, 17),),), kv_heads=1),
    "heads wider than hidden": Case((17,), (((4, 17),),), heads=6, kv_heads=3, head_dim=10),
    "one step": Case((17,), (((4, 17),),), ttt=1),
    "whole vocabulary": Case((17,), (((4, 17),),), draft_vocab=61),
    "linear rope": Case((29,), (((4, 29),),), scaling={"rope_type": "linear", "factor": 3.0}),
    "llama3 rope": Case(
        (29,),
        (((4, 29),),),
        scaling={
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    ),
    "yarn rope": Case(
        (29,), (((4, 29),),), scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
    ),
    "longer than a block of queries": Case((300, 150), (((20, 300),), ((100, 150),)), ttt=3, draft_vocab=30),
    "captured states normed": Case((23, 9), (((9, 23),), ((2, 9),)), fc_norm=True),
    "a sharper teacher": Case((23, 9), (((9, 23),), ((2, 9),)), temperature=0.4),
    "nothing supervised beside something": Case((9, 12), ((), ((6, 12),))),
}


class World:
    """Random tensors of a case, for both sides."""

    def __init__(self, case: Case, dtype: torch.dtype = torch.float32, seed: int = 0) -> None:
        self.case = case
        gen = torch.Generator().manual_seed(seed)
        rand = lambda *size: torch.randn(*size, generator=gen)  # noqa: E731
        self.rope = Rope(theta=10000.0, scaling=case.scaling, max_positions=128)
        self.shape = DraftShape(
            hidden_size=case.hidden,
            intermediate_size=case.inner,
            num_heads=case.heads,
            num_kv_heads=case.kv_heads,
            head_dim=case.head_dim,
            vocab_size=case.vocab,
            draft_vocab_size=case.draft_vocab,
            rms_norm_eps=1e-5,
            rope=self.rope,
            fc_norm=case.fc_norm,
        )
        self.kept = torch.randperm(case.vocab, generator=gen)[: case.draft_vocab].sort().values
        self.t2d = torch.zeros(case.vocab, dtype=torch.bool)
        self.t2d[self.kept] = True
        self.embedding, self.head = rand(case.vocab, case.hidden), rand(case.vocab, case.hidden)
        self.talks = []
        for length, spans in zip(case.lengths, case.masks, strict=True):
            mask = torch.zeros(length, dtype=torch.uint8)
            for first, end in spans:
                mask[first:end] = 1
            ids = torch.randint(case.vocab, (length,), generator=gen)
            last = rand(length, case.hidden)
            self.talks.append(oracle.Conversation(ids, mask, rand(length, 3 * case.hidden), last))
        self.model = DraftModel(self.shape)
        self.model.reset(gen)
        with torch.no_grad():
            for parameter in self.model.parameters():
                if parameter.dim() == 1:
                    parameter.copy_(1 + 0.3 * rand(*parameter.shape))

    @property
    def ids(self) -> list[str]:
        return [f"s{number}" for number in range(len(self.talks))]

    def read(self, number: int) -> Sample:
        talk = self.talks[number]
        return Sample(
            input_ids=talk.input_ids.numpy().astype(np.int32),
            loss_mask=talk.loss_mask.numpy(),
            aux=talk.aux,
            last=talk.last,
        )

    def placed(self) -> Placed:
        pack = read_pack(self, range(len(self.talks)), self.case.ttt, 0, skip_bad=False)  # type: ignore[arg-type]
        head = TargetHead.make(self.head, self.kept, self.case.temperature)
        target = Target(embedding_VH=self.embedding, head=head)
        return place(pack, target, Choices(head), torch.device("cpu"), torch.float32)

    def fast(self, rows: int = 7):
        """Loss, step means and sums of the packed path; gradients are left in the model."""
        placed = self.placed()
        counts = count_slots(placed.pack.layout.place_R, placed.teacher.kept_R, self.case.ttt)
        weights = 0.8 ** torch.arange(self.case.ttt) / counts.clamp(min=1)
        states = self.model(placed.aux_NC, placed.embeds_NH, placed.layout, self.case.ttt)
        loss, sums = ttt_loss(self.model, states, placed.teacher, placed.layout, weights, rows)
        loss.backward()
        return loss, sums

    def plain(self, mistake: str = ""):
        inverse, factor = frequencies(self.rope, self.case.head_dim)
        spec = oracle.Spec(
            self.case.heads,
            self.case.kv_heads,
            self.case.head_dim,
            1e-5,
            inverse,
            factor,
            self.case.ttt,
            fc_norm=self.case.fc_norm,
            temperature=self.case.temperature,
        )
        vocab = VocabMap(self.kept.numpy(), self.case.vocab)
        served = to_served(dict(self.model.named_parameters()), self.shape, vocab)
        params = {n: t.detach().clone().requires_grad_() for n, t in served.items() if t.is_floating_point()}
        out = oracle.losses(params, self.talks, self.embedding, self.head, self.t2d, spec, mistake)
        out[0].backward()
        maps = {"d2t": torch.from_numpy(vocab.d2t), "t2d": torch.from_numpy(vocab.t2d)}
        grads = {n: t.grad if t.grad is not None else torch.zeros_like(t) for n, t in params.items()}
        grads |= {n: torch.ones_like(t) for n, t in params.items() if n.startswith("fc_norm")}  # they are not trained
        return out, from_served({**grads, **maps}, self.shape)


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(torch.allclose(a, b, rtol=1e-5, atol=1e-5))


@pytest.mark.parametrize("name", CASES)
def test_losses_and_gradients_equal_the_oracle(name: str) -> None:
    world = World(CASES[name])
    (total, by_step, correct, kept, supervised), gradients = world.plain()
    loss, sums = world.fast()
    assert close(loss.detach(), total.detach())
    assert close(sums.loss / sums.kept.clamp(min=1), torch.stack(by_step).detach())
    assert sums.kept.tolist() == kept and sums.supervised.tolist() == supervised
    assert sums.correct.tolist() == correct
    for name_, parameter in world.model.named_parameters():
        assert parameter.grad is not None
        assert close(parameter.grad, gradients[name_]), (name_, (parameter.grad - gradients[name_]).abs().max())


def test_activations_made_again_give_the_same_gradients() -> None:
    world, again = (World(CASES["pack of odd lengths"]) for _ in range(2))
    again.model.checkpoint_activations = True
    assert close(world.fast()[0].detach(), again.fast()[0].detach())
    for (name, kept), made in zip(world.model.named_parameters(), again.model.parameters(), strict=True):
        assert kept.grad is not None and made.grad is not None and close(kept.grad, made.grad), name


@pytest.mark.parametrize(
    ("name", "start"),
    [("pack of odd lengths", 20), ("shorter than ttt_length", 1), ("nothing supervised beside something", 20)],
)
def test_a_pack_filled_up_to_a_size_gives_the_same_gradients(name: str, start: int) -> None:
    """Twice over the same buffers, first with another pack's numbers in them: what is left of it weighs nothing."""
    world, filled = World(CASES[name]), World(CASES[name])
    _, sums = world.fast()
    longer = World(Case((40, 9), (((start, 40),), ((1, 9),)), ttt=filled.case.ttt), seed=5)
    for shared in ("head", "kept", "embedding"):
        setattr(longer, shared, getattr(filled, shared))
    placed, other = filled.placed(), longer.placed()
    weights = 0.8 ** torch.arange(filled.case.ttt) / sums.kept.clamp(min=1)
    graphs = Graphs(filled.model, filled.case.ttt, loss_rows=7)
    for parameter in filled.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    graphs.run(other, weights)
    assert len(graphs.buffers) == 1
    for parameter in filled.model.parameters():
        parameter.grad.zero_()
    assert close(graphs.run(placed, weights), sums.stacked) and len(graphs.buffers) == 1
    for (name, plain), made in zip(world.model.named_parameters(), filled.model.parameters(), strict=True):
        assert close(plain.grad, made.grad), name


MISTAKES = (
    "own_token",
    "position",
    "hidden_first",
    "later_keys_causal",
    "normed_residual",
    "normed_feedback",
    "no_norm",
    "mask_unshifted",
    "teacher_early",
    "keep_outside",
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_classic_mistake_is_told_from_the_truth(mistake: str) -> None:
    """The comparison above could not pass with any of them: each moves the loss by far more than its tolerance."""
    world = World(CASES["pack of odd lengths"])
    (_, by_step, *_), gradients = world.plain(mistake)
    _, sums = world.fast()
    losses_differ = (sums.loss / sums.kept.clamp(min=1) - torch.stack(by_step).detach()).abs().max() > 1e-3
    gradients_differ = any(
        not torch.allclose(p.grad, gradients[n], rtol=1e-2, atol=1e-3) for n, p in world.model.named_parameters()
    )
    assert losses_differ and gradients_differ


def test_the_result_does_not_depend_on_how_conversations_are_packed() -> None:
    case = CASES["pack of odd lengths"]
    together, _ = World(case).fast()
    world = World(case)
    world.talks.reverse()
    reversed_, _ = world.fast()
    assert close(together.detach(), reversed_.detach())


def test_what_follows_in_the_pack_reaches_no_supervised_slot() -> None:
    case = CASES["pack of odd lengths"]
    alone = World(Case(case.lengths[:2], case.masks[:2]))
    followed = World(case)
    followed.talks = [
        *alone.talks,
        oracle.Conversation(
            torch.randint(61, (12,)),
            torch.tensor([0] * 11 + [1], dtype=torch.uint8),
            torch.randn(12, 72) * 50,
            torch.randn(12, 24),
        ),
    ]
    outside = int(torch.nonzero(~alone.t2d)[0])
    followed.talks[2].last[11] = alone.head[outside] * 100  # supervised, and left out: its teacher is no draft token
    for name in ("embedding", "head", "kept", "t2d", "model"):
        setattr(followed, name, getattr(alone, name))
    first, _ = alone.fast()
    second, _ = followed.fast()
    assert close(first.detach(), second.detach())
