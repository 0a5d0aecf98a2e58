"""The drafter with a cache, as a server runs it, against the unrolled steps of training and against SGLang's source."""

import dataclasses

import pytest
import torch

from runner.drafter import to_served
from runner.train.batches import read_pack
from runner.train.measure import Choices, Target, place
from runner.train.rope import frequencies, tables
from runner.train.served import Drafter
from runner.train.shape import Rope
from runner.train.teacher import TargetHead
from runner.vocab import VocabMap
from tests.train.test_oracle import CASES, World


def drafter_of(world: World) -> Drafter:
    vocab = VocabMap(world.kept.numpy(), world.case.vocab)
    return Drafter(model=world.model, embedding=world.embedding, vocab=vocab, config={})


@pytest.mark.parametrize(
    "name",
    [
        "one conversation, a long answer",
        "seven steps, every head its own keys",
        "yarn rope",
        "captured states normed",
    ],
)
def test_a_chain_along_the_true_tokens_sees_what_training_saw(name: str) -> None:
    """Slots 0..t by extension, then the chain: SGLang's order of things. Training's step k at slot t is the same."""
    case = dataclasses.replace(CASES[name], lengths=CASES[name].lengths[:1], masks=CASES[name].masks[:1])
    world = World(case)
    head = TargetHead.make(world.head, world.kept)
    pack = read_pack(world, [0], case.ttt, 0, skip_bad=False)  # type: ignore[arg-type]
    placed = place(
        pack, Target(embedding_VH=world.embedding, head=head), Choices(head), torch.device("cpu"), torch.float32
    )
    states = world.model(placed.aux_NC, placed.embeds_NH, placed.pack.layout, case.ttt)
    drafter, talk = drafter_of(world), world.talks[0]
    rows = placed.pack.layout.active_A.tolist()
    projected = drafter.project(talk.aux)
    checked = 0
    for index, slot in enumerate(rows):
        if slot + case.ttt >= len(talk.input_ids):
            break
        cache = drafter.empty()
        hidden = drafter.extend(talk.input_ids[1 : slot + 2], projected[: slot + 1], cache)[-1]
        for step in range(case.ttt):
            assert torch.allclose(hidden, states[step][index], rtol=1e-5, atol=2e-5), (slot, step)
            token = talk.input_ids[slot + 2 + step : slot + 3 + step]
            if step < case.ttt - 1:
                hidden = drafter.extend(token, hidden[None], cache)[0]
            checked += 1
    assert checked


def test_proposing_leaves_the_cache_as_it_was() -> None:
    world = World(CASES["one conversation, a long answer"])
    drafter, talk = drafter_of(world), world.talks[0]
    cache = drafter.empty()
    hidden = drafter.extend(talk.input_ids[1:], drafter.project(talk.aux[:-1]), cache)
    first = drafter.propose(hidden[-1], cache, 4)
    assert len(cache) == len(talk.input_ids) - 1
    assert drafter.propose(hidden[-1], cache, 4) == first
    assert drafter.propose(hidden[-1], cache, 2) == first[:2]
    assert set(first) <= set(world.kept.tolist())


ROPES = {
    "default": {},
    "linear": {"rope_type": "linear", "factor": 3.0},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 64},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
}  # fmt: skip


@pytest.mark.parametrize("name", ROPES)
def test_rope_is_that_of_transformers(name: str) -> None:
    from runner.hf import import_transformers

    transformers = import_transformers()
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = transformers.LlamaConfig(
        hidden_size=64, num_attention_heads=2, head_dim=32, max_position_embeddings=256,
        rope_parameters={"rope_theta": 10000.0, "rope_type": "default", **ROPES[name]},
    )  # fmt: skip
    ours, factor = frequencies(Rope(theta=10000.0, scaling=ROPES[name], max_positions=256), 32)
    if name == "default":
        theirs, their_factor = 1.0 / 10000.0 ** (torch.arange(0, 32, 2) / 32), 1.0
    else:
        theirs, their_factor = ROPE_INIT_FUNCTIONS[name](config, torch.device("cpu"))
    assert torch.allclose(ours, theirs, rtol=1e-6) and factor == pytest.approx(their_factor)


def test_a_table_has_a_row_for_every_position() -> None:
    cos, sin = tables(Rope(theta=100.0, scaling={}, max_positions=8), 8, 5)
    assert cos.shape == sin.shape == (5, 4) and bool((cos[0] == 1).all()) and bool((sin[0] == 0).all())


def test_served_names_hold_the_halves_in_the_order_that_the_server_reads() -> None:
    """[embedding; hidden]: SGLang concatenates the embedding first."""
    world = World(CASES["one conversation, a long answer"])
    served = to_served(
        dict(world.model.named_parameters()), world.shape, VocabMap(world.kept.numpy(), world.case.vocab)
    )
    q = served["midlayer.self_attn.q_proj.weight"]
    hidden = world.shape.hidden_size
    assert torch.equal(q[:, :hidden], world.model.qkv_embed[: world.shape.q_width])
    assert torch.equal(q[:, hidden:], world.model.qkv_hidden[: world.shape.q_width])
