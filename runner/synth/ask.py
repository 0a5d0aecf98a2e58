"""One conversation: every turn asked in order, the ids put together with what stands between."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runner.conversations import Conversation
from runner.synth.template import Pieces


@dataclass(frozen=True)
class Answer:
    """`finish`: stop (its last id is an end token), length, or budget (cut by the stage's own time)."""

    ids: tuple[int, ...]
    finish: str


@dataclass(frozen=True)
class Asked:
    conversation: Conversation
    answers: tuple[tuple[int, ...], ...]


def ask_all(
    sample_id: str,
    pieces: Pieces,
    end_id: int,
    ask: Callable[[Sequence[int], int], Answer],
    reasoning_end: Sequence[int],
) -> Asked:
    """Ask turn by turn; `ask(input_ids, turn)`. An answer that did not end by itself is closed, unsupervised.

    Tokens up to and including `reasoning_end` are left unsupervised when it is given and found.
    """
    ids: list[int] = []
    spans: list[tuple[int, int]] = []
    answers: list[tuple[int, ...]] = []
    finish: list[str] = []
    for turn, before in enumerate(pieces.before):
        if turn and finish[-1] != "stop":
            ids.append(end_id)
        ids += before
        answer = ask(ids, turn)
        start = len(ids) + _after(answer.ids, reasoning_end)
        ids += answer.ids
        if start < len(ids):
            spans.append((start, len(ids)))
        answers.append(answer.ids)
        finish.append(answer.finish)
        if answer.finish == "budget":
            break
    conversation = Conversation(id=sample_id, input_ids=tuple(ids), supervised=tuple(spans), finish=tuple(finish))
    return Asked(conversation, tuple(answers))


def _after(ids: Sequence[int], mark: Sequence[int]) -> int:
    """The place behind the first `mark`; 0 when there is none."""
    if mark:
        for i in range(len(ids) - len(mark) + 1):
            if list(ids[i : i + len(mark)]) == list(mark):
                return i + len(mark)
    return 0
