"""Conversations put together from template pieces and answers: masks, ends, and what is dropped."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner import hf, verify
from runner.conversations import Conversation, read_conversations, write_conversations
from runner.identity import tokenizer_digest
from runner.protocol.errors import DataError
from runner.protocol.files import read_json
from runner.synth import run as synth
from runner.synth.ask import Answer, ask_all
from runner.synth.judge import Judge, is_loop
from runner.synth.options import SynthOptions
from runner.synth.prompts import Prompt, read_prompts
from runner.synth.template import before_user, end_tokens, take_apart

END = 2


@pytest.fixture(scope="module")
def tokenizer(target: Path):
    return hf.load_tokenizer(target)


def scripted(*answers: Answer):
    seen: list[list[int]] = []

    def ask(ids: Sequence[int], turn: int) -> Answer:
        seen.append(list(ids))
        return answers[turn]

    return ask, seen


def test_two_turns_are_what_the_template_renders(tokenizer) -> None:
    prompt = Prompt("p", ("hello world", "how are you"))
    pieces = take_apart(tokenizer, prompt, [END])
    first = tuple(tokenizer.encode("the quick fox", add_special_tokens=False))
    second = tuple(tokenizer.encode("brown dog", add_special_tokens=False))
    ask, seen = scripted(Answer((*first, END), "stop"), Answer((*second, END), "stop"))
    conversation = ask_all("p", pieces, END, ask, ()).conversation
    messages = [
        {"role": "user", "content": "hello world"},
        {"role": "assistant", "content": "the quick fox"},
        {"role": "user", "content": "how are you"},
        {"role": "assistant", "content": "brown dog"},
    ]
    rendered = tokenizer.encode(tokenizer.apply_chat_template(messages, tokenize=False), add_special_tokens=False)
    assert list(conversation.input_ids) == rendered
    spoken = [conversation.input_ids[start:end] for start, end in conversation.supervised]
    assert spoken == [(*first, END), (*second, END)]
    assert seen[1] == rendered[: conversation.supervised[1][0]]


def test_an_answer_cut_by_length_is_closed_but_not_supervised(tokenizer) -> None:
    pieces = take_apart(tokenizer, Prompt("p", ("hello", "more")), [END])
    ask, _ = scripted(Answer((7, 8), "length"), Answer((9, END), "stop"))
    conversation = ask_all("p", pieces, END, ask, ()).conversation
    start, end = conversation.supervised[0]
    assert conversation.input_ids[start:end] == (7, 8)
    assert conversation.input_ids[end] == END
    assert conversation.finish == ("length", "stop")


def test_a_conversation_ends_where_the_time_ran_out(tokenizer) -> None:
    pieces = take_apart(tokenizer, Prompt("p", ("hello", "more")), [END])
    ask, seen = scripted(Answer((7, 8), "budget"))
    conversation = ask_all("p", pieces, END, ask, ()).conversation
    assert len(seen) == 1 and conversation.input_ids[-2:] == (7, 8)


def test_reasoning_is_left_out_of_the_mask_by_the_switch(tokenizer) -> None:
    pieces = take_apart(tokenizer, Prompt("p", ("hello",)), [END])
    ask, _ = scripted(Answer((10, 11, 99, 98, 12, END), "stop"))
    with_it = ask_all("p", pieces, END, ask, ()).conversation
    without = ask_all("p", pieces, END, ask, (99, 98)).conversation
    assert with_it.input_ids == without.input_ids
    assert with_it.num_supervised == 6
    assert [without.input_ids[start:end] for start, end in without.supervised] == [(12, END)]


def test_a_template_that_rewrites_answers_is_refused() -> None:
    class Strips:
        def apply_chat_template(self, messages, **_: object) -> str:
            return "".join(m["content"] for m in messages if m["role"] == "user")

        def encode(self, text: str, **_: object) -> list[int]:
            return list(text.encode())

    with pytest.raises(DataError, match="rewrites earlier answers"):
        take_apart(Strips(), Prompt("p", ("a", "b")), [END])


def test_end_tokens_come_from_config_and_tokenizer(tokenizer) -> None:
    assert end_tokens(tokenizer, {"eos_token_id": [7, 2]}) == (7, 2)
    assert end_tokens(tokenizer, {}) == (2,)


@pytest.mark.parametrize(
    ("ids", "loops"),
    [
        (list(range(100)), False),
        ([1, 2, 3] * 20, True),
        (list(range(60)) + [5] * 20, True),
        ([*range(40), *([7, 8, 9, 10] * 5)], True),
        ([1, 2] * 5, False),  # too short to tell
        ([*range(50), *range(25), *range(100, 140)], False),
    ],
)
def test_loops(ids: list[int], loops: bool) -> None:
    assert is_loop(ids) is loops


def test_the_judge_counts_by_reason() -> None:
    judge = Judge(max_length=50)
    assert judge.fault(range(10), [[1]]) == "empty"
    assert judge.fault(range(60), [range(30)]) == "long"
    assert judge.fault(range(40), [[1, 2, 3] * 10]) == "loop"
    answer = list(range(30))
    assert judge.fault(range(40), [answer]) is None
    judge.keep([answer])
    assert judge.fault(range(41), [answer]) == "duplicate"


def test_prompts_of_all_shapes(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"id": "a/b", "turns": ["x", "y"]}\n\n'
        '{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "u"}]}\n{"prompt": "z"}\n'
    )
    prompts, digest = read_prompts(path)
    assert [p.turns for p in prompts] == [("x", "y"), ("u",), ("z",)]
    assert prompts[0].id == "a_b" and prompts[1].system == "S" and len(digest) == 64


@pytest.mark.parametrize("line", ['{"turns": []}', '{"turns": [" "]}', "[]", "nonsense", '{"messages": []}'])
def test_a_wrong_prompt_is_named_by_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"prompt": "fine"}}\n{line}\n')
    with pytest.raises(DataError, match="line 2"):
        read_prompts(path)


def test_conversations_come_back_and_a_changed_table_is_refused(tmp_path: Path) -> None:
    made = [Conversation(id="a", input_ids=(1, 2, 3, 4), supervised=((1, 2), (3, 4)), finish=("stop", "length"))]
    write_conversations(tmp_path, made, tokenizer_digest="x")
    assert list(read_conversations(tmp_path)) == made
    assert made[0].mask_runs == [1, 1, 1, 1, 0]
    table = tmp_path / "samples.jsonl"
    table.write_bytes(table.read_bytes().replace(b"[1,2,3,4]", b"[1,2,3,5]"))
    with pytest.raises(DataError, match="digest differs"):
        list(read_conversations(tmp_path))


def look(folder: Path, target: Path) -> tuple[str, set[str]]:
    assert verify.main(["synth", "--subject", str(folder), "--target", str(target), "--full"]) == 0
    evidence = read_json(str(folder / "evidence.json"))
    return evidence["verdict"], {bad["id"] for bad in evidence["bad"]}


def test_evidence_names_bad_conversations(tmp_path: Path, target: Path, tokenizer) -> None:
    pieces = take_apart(tokenizer, Prompt("p", ("hello",)), [END])
    before = pieces.before[0]
    count = len(before)

    def made(name: str, answer: tuple[int, ...], shift: int = 0) -> Conversation:
        ids = (*before, *answer)
        return Conversation(id=name, input_ids=ids, supervised=((count - shift, len(ids)),), finish=("stop",))

    good = [made("good", tuple(range(20, 60)))]
    write_conversations(tmp_path, good, tokenizer_digest=tokenizer_digest(target), dropped={"loop": 3})
    assert look(tmp_path, target) == ("proven", set())
    bad = [
        made("loop", (7, 8, 9) * 12),
        made("again", tuple(range(20, 60))),
        made("shifted", tuple(range(30, 70)), shift=1),
        Conversation(id="empty", input_ids=before, supervised=()),
        made("outside", (600, 601, 602)),
    ]
    write_conversations(tmp_path, good + bad, tokenizer_digest=tokenizer_digest(target), dropped={})
    assert look(tmp_path, target) == ("contradicted", {"loop", "again", "shifted", "empty", "outside"})


class Speaker:
    """Answers as scripted by what it is asked for: a user's words, or an assistant's."""

    def __init__(self, tokenizer, asked: tuple[int, ...], users: Sequence[str]) -> None:
        self._tokenizer, self._asked, self._users = tokenizer, asked, iter(users)
        self.prompts = self.answers = 0

    def __call__(self, url: str, ids: Sequence[int], sampling: Mapping[str, Any], **_: object) -> dict[str, Any]:
        if tuple(ids) == self._asked:
            assert sampling["temperature"] == 1.0
            text, self.prompts = next(self._users), self.prompts + 1
        else:
            assert sampling["temperature"] == 0
            text, self.answers = f"answer {self.answers}", self.answers + 1
        output = self._tokenizer.encode(text, add_special_tokens=False)
        return {"output_ids": [*output, END], "meta_info": {"finish_reason": {"type": "stop"}}}


def test_the_target_writes_its_own_prompts_and_more_of_them_later(
    target: Path, tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, end_of_turn = before_user(tokenizer)
    assert tokenizer.decode(list(begin)) == "<|user|>" and end_of_turn == END
    users = ["hello world", "", "fox " * 40, "lazy dog", "how are you", "where is it"]
    speaker = Speaker(tokenizer, begin, users)
    monkeypatch.setattr("runner.synth.run.generate", speaker)
    monkeypatch.setattr(
        "runner.synth.run.serve", lambda *_: contextlib.nullcontext(SimpleNamespace(url="", is_alive=True))
    )

    def run(count: int) -> list[Conversation]:
        synth.run(SynthOptions(target=target, out=tmp_path, max_samples=count, temperature=0, in_flight=1))
        return list(read_conversations(tmp_path))

    first = run(2)
    assert [c.id for c in first] == ["own-000000", "own-000003"]
    messages = [{"role": "user", "content": "hello world"}, {"role": "assistant", "content": "answer 0"}]
    rendered = tokenizer.apply_chat_template(messages, tokenize=False)
    assert list(first[0].input_ids) == tokenizer.encode(rendered, add_special_tokens=False)
    start, end = first[0].supervised[0]
    assert tokenizer.decode(list(first[0].input_ids[start:end])) == "answer 0</s>"
    assert read_json(str(tmp_path / "result.json"))["dropped"] == {"empty": 1, "loop": 1}
    assert read_json(str(tmp_path / "manifest.json"))["sampling"]["own"]["temperature"] == 1.0
    journal = (tmp_path / "journal.jsonl").read_bytes()

    more = run(4)
    assert more[:2] == first and [c.id for c in more[2:]] == ["own-000004", "own-000005"]
    assert (tmp_path / "journal.jsonl").read_bytes().startswith(journal), "what was there is not touched"
    assert speaker.prompts == 6 and speaker.answers == 4
