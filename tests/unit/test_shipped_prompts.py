import json
import re
from pathlib import Path

import runner.data

PROMPTS = Path(runner.data.__file__).parent / "prompts"
BENCHMARKS = ("mt_bench.jsonl", "gsm8k.jsonl")


def read(name: str) -> list[dict]:
    return [json.loads(line) for line in (PROMPTS / name).read_text(encoding="utf-8").splitlines()]


def normal(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def test_no_prompt_trains_that_is_benchmarked() -> None:
    benchmarked = {normal(turn) for name in BENCHMARKS for row in read(name) for turn in row["turns"]}
    trained = {normal(turn) for row in read("train.jsonl") for turn in row["turns"]}
    assert len(trained) > 3000
    assert not trained & benchmarked


def test_ids_and_first_turns_are_unique_and_marks_are_gone() -> None:
    for name in ("train.jsonl", *BENCHMARKS):
        rows = read(name)
        assert len({row["id"] for row in rows}) == len(rows), name
        assert all(turn.strip() for row in rows for turn in row["turns"]), name
        assert not any(re.search(r"\(v\d+\)", turn) for row in rows for turn in row["turns"]), name
    turns = [tuple(map(normal, row["turns"])) for row in read("train.jsonl")]
    assert len(set(turns)) == len(turns)
