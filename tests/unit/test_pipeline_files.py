"""Pipeline files: what is refused, and that the complaint names its line."""

from pathlib import Path

import pytest

from bot.core.pipeline import bytes_of, seconds_of, settings_of, tokens_of
from bot.errors import ConfigError
from bot.pipeline import load_pipeline

GOOD = """\
version: 1
name: small
title: A small one
host: box1
budget_s: 100
stages:
  - id: synth
    verb: synth
    gate: {}
    params:
      max_samples: {type: int, default: 10, low: 1, high: 20, chat: true, aliases: [samples]}
    estimate: {unit: samples, count: max_samples, seconds_each: 2, tokens_each: 100, bytes_per_token: 57344}
    budget: {tokens: 1000, seconds: 60}
  - id: extract
    verb: extract
    inputs: {samples: synth}
    budget: {seconds: 40}
"""


def load(tmp_path: Path, text: str):
    path = tmp_path / "p.yaml"
    path.write_text(text)
    return load_pipeline(path)


def test_estimates_follow_the_settings(tmp_path: Path) -> None:
    stage = load(tmp_path, GOOD).stages[0]
    assert (seconds_of(stage, {}), tokens_of(stage, {}), bytes_of(stage, {})) == (20, 1000, 57_344_000)
    assert tokens_of(stage, {"max_samples": 5}) == 500
    assert settings_of(stage, {"max_samples": 5}) == {"max_samples": 5}


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("verb: synth\n", "verb: synth\n    colour: red\n", 9, "unknown key"),
        ("default: 10", "default: 21", 11, "above 20"),
        ("default: 10", "default: ten", 11, "no int"),
        ("default: 10", "default: true", 11, "no int"),
        ("low: 1,", "low: 30,", 11, "above high"),
        ("version: 1", "version: 2", 1, "version"),
        ("samples: synth", "samples: vocab", 16, "does not come before"),
        ("seconds: 40", "seconds: 41", 5, "above budget_s"),
        ("tokens: 1000", "tokens: 999", 13, "budget 999"),
        ("    verb: extract\n", "", 14, "either `verb` or `command`"),
        ("id: extract", "id: synth", 14, "appears twice"),
        ("name: small", "name: small\nname: big", 3, "appears twice"),
        ("title: A small one", "title: [", 5, "no YAML"),
        ("count: max_samples", "count: samples", 12, "has no setting samples"),
        ("tokens_each: 100", "tokens_each: -1", 12, "greater than or equal to 0"),
    ],
)
def test_complaints_name_the_line(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    assert old in GOOD
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert says in str(refused.value)
    assert f"p.yaml:{line}: " in str(refused.value)


def test_an_env_file_is_read_beside_the_pipeline(tmp_path: Path) -> None:
    (tmp_path / "nccl.env").write_text("# why\nNCCL_DEBUG=WARN # quiet\nNCCL_P2P_LEVEL=NVL\n")
    text = GOOD.replace(
        "    verb: extract\n", "    verb: extract\n    env_file: nccl.env\n    env: {NCCL_DEBUG: INFO}\n"
    )
    assert load(tmp_path, text).stages[1].env == {"NCCL_DEBUG": "INFO", "NCCL_P2P_LEVEL": "NVL"}
    (tmp_path / "nccl.env").write_text("what is this\n")
    with pytest.raises(ConfigError, match=r"nccl\.env:1"):
        load(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        load_pipeline(tmp_path / "absent.yaml")
