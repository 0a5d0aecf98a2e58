"""Models and a finished benchmark, made once for all tests against real servers."""

import json

import pytest

from tests.sglang.benched import LAYER_IDS, TOKENS, Bench
from tests.sglang.made_drafter import write_repeating_drafter


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Target, drafter and prompts."""
    from runner import target

    root = tmp_path_factory.mktemp("models")
    target.make("tiny-llama", root / "target")
    write_repeating_drafter(root / "draft", root / "target", LAYER_IDS, fc_norm=True)
    texts = ["hello 0 the fox", "hello 3 the fox", "the lazy dog jumps", "a quick brown fox, hello world", "over"]
    (root / "prompts.jsonl").write_text(
        "".join(json.dumps({"id": f"p{i}", "turns": [t]}) + "\n" for i, t in enumerate(texts))
    )
    return root / "target", root / "draft", root / "prompts.jsonl"


@pytest.fixture(scope="session")
def finished(models, tmp_path_factory):
    flags = ("--max-new-tokens", str(TOKENS), "--rounds", "2", "--concurrency", "1,3")
    with Bench(tmp_path_factory.mktemp("bench"), *models, *flags) as bench:
        assert bench.finish() == 0, bench.log.read_text()[-3000:]
        yield bench
