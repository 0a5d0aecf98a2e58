"""The chat template, taken apart: what stands between the answers, as token ids.

Answers are never decoded and tokenised again: a conversation's ids are the template's literal pieces around the ids
that the target generated. So the masks are exact, and the states are those of what it really said.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runner.protocol.errors import DataError
from runner.synth.prompts import Prompt

_MARK = "\u2063POINTSMAN-ANSWER-{}\u2063"


@dataclass(frozen=True)
class Pieces:
    """`before[i]` are the ids that stand before answer i. The end token belongs to the answer that generates it."""

    before: tuple[tuple[int, ...], ...]


def take_apart(tokenizer: Any, prompt: Prompt, end_ids: Sequence[int]) -> Pieces:
    """Render the prompt with marks in place of the answers, and split there. Raises DataError."""
    marks = [_MARK.format(turn) for turn in range(len(prompt.turns) - 1)]
    messages = [{"role": "system", "content": prompt.system}] if prompt.system is not None else []
    for turn, text in enumerate(prompt.turns):
        messages.append({"role": "user", "content": text})
        if turn < len(marks):
            messages.append({"role": "assistant", "content": marks[turn]})
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    pieces = []
    for mark in marks:
        piece, found, text = text.partition(mark)
        if not found:
            raise DataError(
                f"prompt {prompt.id}: the chat template rewrites earlier answers",
                "use prompts of one turn with this model",
            )
        pieces.append(piece)
    before = [tuple(tokenizer.encode(piece, add_special_tokens=False)) for piece in [*pieces, text]]
    return Pieces((before[0], *(_without_end(ids, end_ids) for ids in before[1:])))


def before_user(tokenizer: Any) -> tuple[tuple[int, ...], int]:
    """What stands before a user's first word, and the token that ends the user's turn. Raises DataError."""
    mark = _MARK.format("user")
    text = tokenizer.apply_chat_template([{"role": "user", "content": mark}], tokenize=False)
    before, found, after = text.partition(mark)
    ends = tokenizer.encode(after, add_special_tokens=False)
    if not found or not ends:
        raise DataError("the chat template does not show where a user's turn ends", "give --prompts")
    return tuple(tokenizer.encode(before, add_special_tokens=False)), int(ends[0])


def _without_end(ids: tuple[int, ...], end_ids: Sequence[int]) -> tuple[int, ...]:
    """Earlier answers end by the end token that the target generated, or that is put there: not by another one."""
    return ids[1:] if ids and ids[0] in end_ids else ids


def end_tokens(tokenizer: Any, config: dict[str, Any]) -> tuple[int, ...]:
    """The ids that end an answer: those of the model's config, then the tokenizer's. Raises DataError when none."""
    stated = config.get("eos_token_id")
    ids = list(stated) if isinstance(stated, list) else [stated]
    ids.append(tokenizer.eos_token_id)
    known = dict.fromkeys(int(number) for number in ids if number is not None)
    if not known:
        raise DataError("neither config nor tokenizer name an end token")
    return tuple(known)
