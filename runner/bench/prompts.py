"""The prompts of a benchmark: chat turns behind the target's own template, none that trained the drafter."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.conversations import read_conversations
from runner.protocol.errors import DataError
from runner.synth.prompts import read_prompts

_VARIANT = re.compile(r"\s*\(v\d+\)\s*$")  # some training sets number repeats of one question


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked: the first turn of a conversation."""

    id: str
    text: str
    system: str | None = None


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A question as token ids, template and generation prompt included."""

    id: str
    input_ids: list[int]


def choose_files(paths: Sequence[Path], suites: Sequence[str]) -> Sequence[Path]:
    """The prompt files whose names without ending are asked for; all when none is. Raises DataError for another."""
    known = {path.stem: path for path in paths}
    if missing := [suite for suite in suites if suite not in known]:
        raise DataError(f"no prompts named {', '.join(missing)}", f"there are: {', '.join(known)}")
    return [known[suite] for suite in dict.fromkeys(suites)] or paths


def choose_questions(paths: Sequence[Path], count: int) -> list[Question]:
    """`count` questions shared evenly between the files, each file's first ones; all when 0.

    Raises DataError when a file is no file of prompts, or holds fewer, or an id comes twice.
    """
    files = [_read(path) for path in paths]
    shares = [count // len(files) + (index < count % len(files)) for index in range(len(files))]
    chosen = []
    for path, questions, share in zip(paths, files, shares, strict=True):
        if len(questions) < share:
            raise DataError(f"{path}: {len(questions)} prompts, {share} wanted of it", "lower --num-prompts")
        chosen += questions[:share] if count else questions
    ids = [question.id for question in chosen]
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    if repeated:
        raise DataError(f"prompt ids used twice: {', '.join(repeated[:5])}")
    return chosen


def _read(path: Path) -> list[Question]:
    return [
        Question(
            id=f"{path.stem}-{prompt.id}" if prompt.id.startswith("line-") else prompt.id,
            text=prompt.turns[0],
            system=prompt.system,
        )
        for prompt in read_prompts(path)[0]
    ]


def render(questions: Sequence[Question], tokenizer: Any) -> list[Prompt]:
    """Token ids by the target's chat template. Raises DataError when its tokenizer has none.

    Raw text is no way out: without the template a chat model loops, and loops are easy to draft.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise DataError("the target's tokenizer has no chat template", "benchmark a chat model, or add its template")
    prompts = []
    for question in questions:
        messages = [{"role": "system", "content": question.system}] if question.system is not None else []
        messages.append({"role": "user", "content": question.text})
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"]
        prompts.append(Prompt(id=question.id, input_ids=[int(token) for token in ids]))
    return prompts


def find_trained(questions: Sequence[Question], prompts: Sequence[Prompt], sources: Sequence[Path]) -> list[str]:
    """Ids of questions that are among the training prompts of `sources`, by their words or by their token ids.

    A source is a file of prompts, of which every turn counts, or a synth folder, whose conversations begin with
    their first prompt.
    """
    words: set[str] = set()
    tokens: set[tuple[int, ...]] = set()
    for source in sources:
        if source.is_dir():
            tokens |= {c.input_ids[: c.supervised[0][0]] for c in read_conversations(source) if c.supervised}
        else:
            words |= {normalise(turn) for prompt in read_prompts(source)[0] for turn in prompt.turns}
    return [
        question.id
        for question, prompt in zip(questions, prompts, strict=True)
        if normalise(question.text) in words or tuple(prompt.input_ids) in tokens
    ]


def normalise(text: str) -> str:
    """What makes two questions the same: their words, whatever case and spacing."""
    return " ".join(_VARIANT.sub("", text).casefold().split())


def write_prompts(path: Path, prompts: Sequence[Prompt]) -> None:
    """Keep what was sent, so that answers can be looked at again."""
    path.write_text("".join(json.dumps(asdict(prompt)) + "\n" for prompt in prompts), encoding="utf-8")


def read_sent(path: Path) -> dict[str, list[int]]:
    """Token ids by prompt, as `write_prompts` left them. Raises DataError."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {str(row["id"]): [int(token) for token in row["input_ids"]] for row in rows}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: no prompts ({error!r})") from error
