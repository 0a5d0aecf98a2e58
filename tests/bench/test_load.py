import threading

import pytest

from runner.bench.load import answer_all
from runner.bench.prompts import Prompt
from runner.bench.schedule import Pass
from runner.protocol.errors import ServerError

PROMPTS = [Prompt(id=f"p{i}", input_ids=[i, i]) for i in range(7)]


def _turn(concurrency):
    return Pass(side="drafted", round=2, concurrency=concurrency)


def _reply(input_ids, tokens, **meta):
    base = {"finish_reason": {"type": "length", "length": tokens}, "completion_tokens": tokens, "prompt_tokens": 2}
    return {"output_ids": [input_ids[0]] * tokens, "meta_info": {**base, **meta}}


def test_every_prompt_is_answered_once_and_records_come_in_prompt_order():
    seen = []
    records = answer_all(lambda ids, n: _reply(ids, n), PROMPTS, _turn(3), 4, seen.append)
    assert [record.prompt for record in records] == [prompt.id for prompt in PROMPTS]
    assert [record.output_ids[0] for record in records] == list(range(7))
    assert sorted(record.prompt for record in seen if record) == [prompt.id for prompt in PROMPTS]
    assert {(record.side, record.round, record.concurrency) for record in records} == {("drafted", 2, 3)}


@pytest.mark.parametrize("concurrency", [1, 3])
def test_exactly_so_many_are_in_flight(concurrency):
    together = threading.Barrier(concurrency, timeout=10)
    lock, now, most = threading.Lock(), [0], [0]

    def generate(ids, tokens):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait()  # breaks unless `concurrency` requests meet here
        with lock:
            now[0] -= 1
        return _reply(ids, tokens)

    answer_all(generate, PROMPTS[:6], _turn(concurrency), 1, lambda record: None)
    assert most == [concurrency]


def test_the_first_failure_is_raised_and_stops_the_rest():
    asked = []

    def generate(ids, tokens):
        asked.append(ids[0])
        if ids[0] == 2:
            raise ServerError("gone")
        return _reply(ids, tokens)

    with pytest.raises(ServerError, match="gone"):
        answer_all(generate, PROMPTS, _turn(1), 1, lambda record: None)
    assert asked == [0, 1, 2]


def test_what_the_server_says_of_its_drafts_is_kept():
    meta = {"spec_verify_ct": 3, "spec_num_correct_drafts": 1, "spec_correct_drafts_histogram": [2, 1]}
    (record,) = answer_all(lambda ids, n: _reply(ids, n, **meta), PROMPTS[:1], _turn(1), 4, lambda record: None)
    assert (record.verify_steps, record.accepted_drafts, record.accepted_histogram) == (3, 1, [2, 1])


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"error": {"message": "x"}}, "lacks 'meta_info'"),
        (_reply([1], 0), "not answered"),
        (_reply([1], 2, finish_reason={"type": "abort"}), "not answered"),
        (_reply([1], 2, completion_tokens=3), "2 tokens came, the server counts 3"),
    ],
)
def test_an_answer_that_is_none_is_an_error(reply, why):
    with pytest.raises(ServerError, match=why):
        answer_all(lambda ids, n: reply, PROMPTS[:1], _turn(1), 2, lambda record: None)
