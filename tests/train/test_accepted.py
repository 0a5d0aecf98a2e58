"""Acceptance without a loop against the loop itself: a drafter with a cache, draft by draft."""

import pytest
import torch

from runner.train.accepted import Asked, acceptance, drafts_everywhere
from runner.train.served import Drafter
from tests.train.test_oracle import CASES, World
from tests.train.test_served import drafter_of


def loop(drafter: Drafter, asked: Asked, steps: int) -> list[int]:
    """How many drafts each verify step accepts, in a server's order of things."""
    tokens, hidden = asked.tokens, drafter.project(asked.aux)
    cache, at, counts = drafter.empty(), asked.prompt_length, []
    read = 0  # slots that the cache holds, all of them of verified tokens
    while at < asked.prompt_length + asked.answer_length - 1:
        last = drafter.extend(tokens[read + 1 : at + 1], hidden[read:at], cache)[-1]
        read = at
        chain = drafter.propose(last, cache, steps)
        truth = tokens[at + 1 : at + 1 + steps].tolist()
        counts.append(next((k for k, pair in enumerate(zip(chain, truth, strict=True)) if pair[0] != pair[1]), steps))
        at += counts[-1] + 1
    return counts


@pytest.mark.parametrize(
    "name", ["one conversation, a long answer", "seven steps, every head its own keys", "yarn rope"]
)
def test_acceptance_is_that_of_the_loop(name: str) -> None:
    """The answer is partly what the drafter would say, so that every count from none to all occurs."""
    world, steps = World(CASES[name]), 3
    drafter, talk = drafter_of(world), world.talks[0]
    tokens = talk.input_ids.repeat(4)
    aux = torch.randn(len(tokens), talk.aux.shape[1], generator=torch.Generator().manual_seed(2))
    gen, at = torch.Generator().manual_seed(4), 5
    while at + steps + 1 < len(tokens):
        drafts = drafts_everywhere(drafter, tokens[: at + 2], aux, steps)[at - 1]  # the slot that has read `at`
        count = int(torch.randint(steps + 1, (), generator=gen))
        tokens[at + 1 : at + 1 + count] = drafts[:count]
        at += count + 1
    asked = Asked(tokens, prompt_length=5, answer_length=len(tokens) - 5 - steps, aux=aux)
    counts = loop(drafter, asked, steps)
    assert {0, steps} <= set(counts)
    found = acceptance(drafter, [asked], steps)
    assert found["verify_steps"] == len(counts)
    assert found["length"] == pytest.approx(1 + sum(counts) / len(counts))
    assert found["by_position"][0] == pytest.approx(sum(c > 0 for c in counts) / len(counts))
