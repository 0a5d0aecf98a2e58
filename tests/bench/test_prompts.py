import json

import pytest

from runner.bench.prompts import Prompt, choose_questions, find_trained, read_questions, render
from runner.protocol.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write_rows(name, *rows):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write_rows


class Words:
    """A tokenizer whose token ids are the lengths of the words."""

    chat_template = "x"

    def apply_chat_template(self, messages, add_generation_prompt, return_dict):
        assert add_generation_prompt
        return {"input_ids": [1] + [len(word) for m in messages for word in m["content"].split()] + [2]}


def _turns(count, start=0):
    return [{"question_id": start + i, "turns": [f"Question {start + i}?", "And then?"]} for i in range(count)]


def test_first_turn_is_asked_and_ids_name_the_file(write):
    (question,) = read_questions(write("mt_bench.jsonl", {"question_id": 81, "turns": ["Say hi.", "Again."]}))
    assert question.id == "mt_bench-81"
    assert question.messages == ({"role": "user", "content": "Say hi."},)


def test_messages_are_asked_up_to_the_last_user_turn(write):
    row = {"messages": [{"role": r, "content": c} for r, c in (("system", "S"), ("user", "U"), ("assistant", "A"))]}
    (question,) = read_questions(write("chat.jsonl", row))
    assert [message["content"] for message in question.messages] == ["S", "U"]


@pytest.mark.parametrize("row", [{"text": "raw"}, {"prompt_ids": [1, 2]}, {"messages": []}, {"turns": []}])
def test_raw_text_is_refused_with_its_line(write, row):
    with pytest.raises(DataError, match="line 2: neither"):
        read_questions(write("raw.jsonl", {"turns": ["fine"]}, row))


def test_broken_json_is_refused_with_its_line(tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text('{"turns": ["a"]}\n{"turns": [\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 2: not JSON"):
        read_questions(path)


def test_the_count_is_shared_evenly(write):
    paths = [write("a.jsonl", *_turns(5)), write("b.jsonl", *_turns(5))]
    chosen = choose_questions(paths, 5)
    assert [question.id for question in chosen] == ["a-0", "a-1", "a-2", "b-0", "b-1"]
    assert len(choose_questions(paths, 0)) == 10


def test_fewer_prompts_than_wanted_is_refused(write):
    with pytest.raises(DataError, match="2 prompts, 3 wanted"):
        choose_questions([write("a.jsonl", *_turns(2))], 3)


def test_one_id_twice_is_refused(write):
    with pytest.raises(DataError, match="used twice: a-0"):
        choose_questions([write("a.jsonl", *_turns(1), *_turns(1))], 0)


def test_a_tokenizer_without_template_is_refused(write):
    tokenizer = Words()
    tokenizer.chat_template = None
    with pytest.raises(DataError, match="no chat template"):
        render(choose_questions([write("a.jsonl", *_turns(1))], 0), tokenizer)


def _trained(write, *sources):
    questions = choose_questions([write("bench.jsonl", *_turns(3))], 0)
    return find_trained(questions, render(questions, Words()), sources)


def test_training_conversations_are_found_by_their_words_in_any_turn(write):
    source = write("train.jsonl", {"messages": [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "  question   1? (v776)"},
        {"role": "assistant", "content": "Yes"},
    ]})  # fmt: skip
    assert _trained(write, source) == ["bench-1"]


def test_training_samples_are_found_by_their_token_ids(write):
    questions = choose_questions([write("b.jsonl", {"turns": ["one three"]})], 0)
    prompts = render(questions, Words())
    samples = write("synth/samples.jsonl", {"id": "s", "prompt_ids": [1, 3, 5, 2]})
    assert find_trained(questions, prompts, [samples.parent]) == ["b-1"]


def test_other_training_prompts_are_no_overlap(write):
    assert _trained(write, write("train.jsonl", *_turns(3, start=10))) == []


def test_a_prompt_is_whole(write):
    (prompt,) = render(read_questions(write("a.jsonl", {"id": "x", "turns": ["ab cde"]})), Words())
    assert prompt == Prompt(id="x", input_ids=[1, 2, 3, 2])
