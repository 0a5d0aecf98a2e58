"""The prompts of a benchmark: chat turns behind the target's own template, none that trained the drafter."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.protocol.errors import DataError

Message = dict[str, str]
_ID_FIELDS = ("id", "question_id", "conversation_id")
_VARIANT = re.compile(r"\s*\(v\d+\)\s*$")  # some training sets number repeats of one question


@dataclass(frozen=True, kw_only=True)
class Question:
    """A conversation up to the turn that is to be answered."""

    id: str
    messages: tuple[Message, ...]

    @property
    def key(self) -> str:
        """What makes two questions the same: the words of the turn to answer, whatever case and spacing."""
        return normalise(self.messages[-1]["content"])


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A question as token ids, template and generation prompt included."""

    id: str
    input_ids: list[int]


def normalise(text: str) -> str:
    return " ".join(_VARIANT.sub("", text).casefold().split())


def read_questions(path: Path) -> list[Question]:
    """Questions of a JSON-lines file: `turns` [str] (the first is asked) or `messages` (up to the last user turn).

    Raises DataError naming the line; also for raw text, which a benchmark must not use: without the template a chat
    model loops, and loops are easy to draft.
    """
    questions = []
    for number, row in _rows(path):
        where = f"{path}, line {number}"
        messages = _messages(row, where)
        questions.append(Question(id=_name(row, path, number), messages=tuple(messages)))
    return questions


def choose_questions(paths: Sequence[Path], count: int) -> list[Question]:
    """`count` questions shared evenly between the files, each file's first ones; all when 0.

    Raises DataError when the files hold fewer, or one question twice.
    """
    files = [read_questions(path) for path in paths]
    if count == 0:
        chosen = [question for questions in files for question in questions]
    else:
        shares = [count // len(files) + (index < count % len(files)) for index in range(len(files))]
        for path, questions, share in zip(paths, files, shares, strict=True):
            if len(questions) < share:
                raise DataError(f"{path}: {len(questions)} prompts, {share} wanted of it", "lower --num-prompts")
        chosen = [q for questions, share in zip(files, shares, strict=True) for q in questions[:share]]
    if not chosen:
        raise DataError("no prompts to benchmark with")
    repeated = _repeated(question.id for question in chosen)
    if repeated:
        raise DataError(f"prompt ids used twice: {', '.join(repeated[:5])}")
    return chosen


def render(questions: Sequence[Question], tokenizer: Any) -> list[Prompt]:
    """Token ids by the target's chat template. Raises DataError when its tokenizer has none."""
    if not getattr(tokenizer, "chat_template", None):
        raise DataError("the target's tokenizer has no chat template", "benchmark a chat model, or add its template")
    prompts = []
    for question in questions:
        ids = tokenizer.apply_chat_template(list(question.messages), add_generation_prompt=True, return_dict=True)
        prompts.append(Prompt(id=question.id, input_ids=[int(token) for token in ids["input_ids"]]))
    return prompts


def find_trained(questions: Sequence[Question], prompts: Sequence[Prompt], sources: Sequence[Path]) -> list[str]:
    """Ids of questions that are among the training prompts of `sources`, by their words or by their token ids.

    A source is a JSON-lines file of conversations, or a folder of samples (`samples.jsonl` with `prompt_ids`).
    """
    words: set[str] = set()
    tokens: set[tuple[int, ...]] = set()
    for source in sources:
        path = source / "samples.jsonl" if source.is_dir() else source
        for number, row in _rows(path):
            if "prompt_ids" in row:
                tokens.add(tuple(row["prompt_ids"]))
            else:
                words |= {normalise(text) for text in _user_turns(row, f"{path}, line {number}")}
    return [
        question.id
        for question, prompt in zip(questions, prompts, strict=True)
        if question.key in words or tuple(prompt.input_ids) in tokens
    ]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not readable ({error})") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: not JSON ({error})") from error
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number}: no object")
        yield number, row


def _name(row: dict[str, Any], path: Path, number: int) -> str:
    """A row's own textual id, else its number in the file, made unlike those of other files."""
    own = next((row[field] for field in _ID_FIELDS if field in row), number)
    return own if isinstance(own, str) else f"{path.stem}-{own}"


def _messages(row: dict[str, Any], where: str) -> list[Message]:
    turns = row.get("turns")
    if isinstance(turns, list) and turns and isinstance(turns[0], str):
        return [{"role": "user", "content": turns[0]}]
    messages = row.get("messages")
    if isinstance(messages, list):
        try:
            plain = [{"role": str(m["role"]), "content": str(m["content"])} for m in messages]
        except (TypeError, KeyError) as error:
            raise DataError(f"{where}: a message lacks role or content") from error
        while plain and plain[-1]["role"] != "user":
            plain.pop()
        if plain:
            return plain
    raise DataError(
        f"{where}: neither `turns` nor `messages` with a user turn",
        "only chat prompts are benchmarked: raw text makes a chat model loop, which flatters the drafter",
    )


def _user_turns(row: dict[str, Any], where: str) -> list[str]:
    """Every user turn: a drafter that trained on a later turn knows it too."""
    if isinstance(row.get("turns"), list):
        return [str(turn) for turn in row["turns"]]
    return [message["content"] for message in _messages(row, where) if message["role"] == "user"]


def _repeated(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
