"""Layer ids and what they make SGLang capture, by family: whoever reads a set refuses a config that disagrees."""

import json
from pathlib import Path

import pytest

from runner import tiny
from runner.bench.draft import check_capture, read_draft_config
from runner.extract.plan import make_plan
from runner.protocol.errors import CaptureMismatch
from tests.capture.conftest import HIDDEN, MadeSet
from tests.capture.test_extract_plan import options


def drafter(folder: Path, ids: list[int] | None) -> Path:
    folder.mkdir()
    (folder / "model.safetensors").touch()
    config = {"hidden_size": HIDDEN, "vocab_size": tiny.VOCAB, "architectures": ["LlamaForCausalLMEagle3"]}
    if ids is not None:
        config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": ids}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def of_family(folder: Path, family: str) -> Path:
    """A target's config alone, of eight layers."""
    folder.mkdir()
    inner = {"hidden_size": HIDDEN, "vocab_size": tiny.VOCAB, "num_hidden_layers": 8, "model_type": family}
    config = {"model_type": "kimi_k25", "text_config": {**inner, "model_type": "kimi_k2"}} if "k25" in family else inner
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("family", "right", "wrong"),
    [
        ("llama", [1, 3, 4], [2, 4, 5]),
        ("deepseek_v3", [2, 4, 5], [1, 4, 5]),  # beginning with 1 they are shifted
        ("kimi_k25", [2, 4, 5], [3, 5, 6]),
    ],
)
def test_serving_refuses_ids_that_mean_other_layers(
    random_set: MadeSet, tmp_path: Path, family: str, right: list[int], wrong: list[int]
) -> None:
    """The set holds the states of indices 2, 4 and 5."""
    target = of_family(tmp_path / "target", family)
    check_capture(read_draft_config(drafter(tmp_path / "right", right), target), random_set.out)
    draft = read_draft_config(drafter(tmp_path / "wrong", wrong), target)
    with pytest.raises(CaptureMismatch, match=r"it was trained on \[2, 4, 5\]"):
        check_capture(draft, random_set.out)


def test_serving_refuses_a_drafter_that_names_no_layers(random_set: MadeSet, tmp_path: Path) -> None:
    """SGLang then takes 2, half and last but 3 of the target's own count."""
    draft = read_draft_config(drafter(tmp_path / "draft", None), of_family(tmp_path / "target", "llama"))
    assert draft.indices == (2, 4, 5)
    check_capture(draft, random_set.out)
    twelve = tmp_path / "twelve"
    of_family(twelve, "llama")
    config = json.loads((twelve / "config.json").read_text())
    (twelve / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 12}))
    with pytest.raises(CaptureMismatch, match=r"would capture \[2, 6, 9\]"):
        check_capture(read_draft_config(tmp_path / "draft", twelve), random_set.out)


def test_extraction_of_the_wrapper_plans_with_its_own_family(random_set: MadeSet, tmp_path: Path) -> None:
    target = tmp_path / "kimi"
    target.mkdir()
    tiny.write_kimi_k25(target, "float32")
    plan = make_plan(options(random_set, target=target, out=tmp_path / "out", capture=(2, 3, 5)))
    assert plan.layer_ids == (2, 3, 5) and plan.model.model_type == "kimi_k25" and plan.hidden_size == HIDDEN
    with pytest.raises(CaptureMismatch, match="no layer ids"):
        make_plan(options(random_set, target=target, out=tmp_path / "other", capture=(1, 3, 5)))
