"""The part of bench's evidence that computes: the baseline's answers, predicted by transformers."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from runner.bench import files
from runner.bench.answers import reference_answers
from runner.bench.prompts import read_sent
from runner.bench.records import Record
from runner.bench.serving import count_weight_bytes, read_free_bytes
from runner.hf import load_causal_lm
from runner.protocol.errors import StageError
from runner.protocol.evidence import Check

PROMPTS = 4
# Logits: rounding alone may choose the other token within it. A bfloat16 step is 0.125 where logits are above 16.
NEAR_TIE = {"float32": 0.02}
NEAR_TIE_ROUGH = 0.5


def check(subject: Path, target: Path, dtype: str, records: Sequence[Record]) -> Iterator[Check]:
    """`replayed`: the target, by other code than the server's, would have said the same. Undecided where it is too big.

    The whole answer goes in at once: each of its tokens must be the best one after what precedes it.
    """
    if 2 * count_weight_bytes(target) > read_free_bytes():
        yield Check("replayed", None, found=None, expected="target fits in memory", detail="too big to load here")
        return
    try:
        sent = read_sent(subject / files.PROMPTS)
        model = load_causal_lm(target, getattr(torch, dtype))
    except StageError as error:
        yield Check("replayed", None, found=error.message, expected="prompts and target")
        return
    answers = list(reference_answers(records).items())[:PROMPTS]
    tie = NEAR_TIE.get(dtype, NEAR_TIE_ROUGH)
    wrong = {prompt: _count_wrong(model, sent[prompt], answer, tie) for prompt, answer in answers}
    tokens = sum(len(answer) for _, answer in answers)
    yield Check(
        "replayed",
        not any(wrong.values()),
        found=f"{tokens - sum(wrong.values())} of {tokens} tokens of {len(answers)} answers",
        expected=f"all are transformers' own choice, within {tie} of its best logit",
        detail="; ".join(f"{prompt}: {count}" for prompt, count in wrong.items() if count),
    )


@torch.no_grad()
def _count_wrong(model: Any, prompt: Sequence[int], answer: Sequence[int], tie: float) -> int:
    logits = model(torch.tensor([[*prompt, *answer]])).logits[0, len(prompt) - 1 : -1].float()
    chosen = logits.gather(1, torch.tensor(answer)[:, None])[:, 0]
    return int((logits.max(-1).values - chosen > tie).sum())
