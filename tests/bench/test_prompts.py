import json

import pytest

from runner.bench.prompts import Prompt, choose_questions, find_trained, read_sent, render, write_prompts
from runner.conversations import Conversation, write_conversations
from runner.protocol.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write_rows(name, *rows):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write_rows


class Words:
    """A tokenizer whose token ids are the lengths of the words."""

    chat_template = "x"

    def apply_chat_template(self, messages, add_generation_prompt, return_dict):
        assert add_generation_prompt
        return {"input_ids": [1] + [len(word) for m in messages for word in m["content"].split()] + [2]}


def _turns(count, name="q", start=0):
    return [{"id": f"{name}{start + i}", "turns": [f"Question {start + i}?", "And then?"]} for i in range(count)]


def test_the_first_turn_is_asked_with_its_system_message(write):
    messages = [{"role": r, "content": c} for r, c in (("system", "S"), ("user", "U 1"), ("assistant", "A"))]
    paths = [write("mt_bench.jsonl", {"turns": ["Say hi.", "Again."]}), write("chat.jsonl", {"messages": messages})]
    first, second = choose_questions(paths, 0)
    assert (first.id, first.text, first.system) == ("mt_bench-line-1", "Say hi.", None)
    assert (second.id, second.text, second.system) == ("chat-line-1", "U 1", "S")
    assert [prompt.input_ids for prompt in render([first, second], Words())] == [[1, 3, 3, 2], [1, 1, 1, 1, 2]]


@pytest.mark.parametrize("row", [{"input_ids": [1, 2]}, {"messages": []}, {"turns": []}])
def test_what_is_no_chat_turn_is_refused_with_its_line(write, row):
    with pytest.raises(DataError, match="line 2: no prompt"):
        choose_questions([write("raw.jsonl", {"turns": ["fine"]}, row)], 0)


def test_the_count_is_shared_evenly(write):
    paths = [write("a.jsonl", *_turns(5, "a")), write("b.jsonl", *_turns(5, "b"))]
    assert [question.id for question in choose_questions(paths, 5)] == ["a0", "a1", "a2", "b0", "b1"]
    assert len(choose_questions(paths, 0)) == 10


def test_fewer_prompts_than_wanted_is_refused(write):
    with pytest.raises(DataError, match="2 prompts, 3 wanted"):
        choose_questions([write("a.jsonl", *_turns(2))], 3)


def test_one_id_in_two_files_is_refused(write):
    with pytest.raises(DataError, match="used twice: q0"):
        choose_questions([write("a.jsonl", *_turns(1)), write("b.jsonl", *_turns(2))], 0)


def test_a_tokenizer_without_template_is_refused(write):
    tokenizer = Words()
    tokenizer.chat_template = None
    with pytest.raises(DataError, match="no chat template"):
        render(choose_questions([write("a.jsonl", *_turns(1))], 0), tokenizer)


def _find_trained(write, *sources):
    questions = choose_questions([write("bench.jsonl", *_turns(3))], 0)
    return find_trained(questions, render(questions, Words()), sources)


def test_training_prompts_are_found_by_their_words_in_any_turn(write):
    source = write("train.jsonl", {"turns": ["Hello", "  question   1? (v776)"]})
    assert _find_trained(write, source) == ["q1"]


def test_training_samples_are_found_by_the_token_ids_they_begin_with(write, tmp_path):
    samples = tmp_path / "synth"
    samples.mkdir()
    asked, other = (1, 8, 2, 2), (1, 8, 3, 2)
    conversations = [
        Conversation(id=str(n), input_ids=(*prompt, 7, 7), supervised=((4, 6),))
        for n, prompt in enumerate([asked, other])
    ]
    write_conversations(samples, conversations, tokenizer_digest="x")
    questions = choose_questions([write("b.jsonl", {"id": "mine", "turns": ["Question 7?"]})], 0)
    assert find_trained(questions, [Prompt(id="mine", input_ids=[1, 8, 2, 2])], [samples]) == ["mine"]
    assert find_trained(questions, [Prompt(id="mine", input_ids=[1, 8, 2])], [samples]) == []


def test_other_training_prompts_are_no_overlap(write):
    source = write("train.jsonl", *[{"turns": [f"Question {number}?"]} for number in range(10, 13)])
    assert _find_trained(write, source) == []


def test_what_was_sent_is_kept(tmp_path):
    write_prompts(tmp_path / "prompts.jsonl", [Prompt(id="x", input_ids=[1, 2, 3, 2])])
    assert read_sent(tmp_path / "prompts.jsonl") == {"x": [1, 2, 3, 2]}
