"""Evidence for vocab and train: proven when sound, contradicted by each fault, by the check that is named for it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from runner.protocol.evidence import Check
from runner.train.run import train
from runner.verify.train import check_train, pictures
from runner.verify.vocab import check_vocab
from runner.vocab import VocabMap
from tests.train import tiny


@pytest.fixture(scope="module")
def trained(shared_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("trained")
    for name in ("target", "features", "vocab"):
        (root / name).symlink_to(shared_root / name)
    train(tiny.config(root, epochs=6.0))
    return root


def look(root: Path, subject: Path, full: bool = False) -> list[Check]:
    return check_train(subject, root / "features", root / "vocab", root / "target", full)


def failed(checks: list[Check]) -> list[str]:
    return [check.name for check in checks if check.ok is False]


@pytest.mark.parametrize("full", [False, True])
def test_a_sound_run_is_proven(trained: Path, full: bool) -> None:
    checks = look(trained, trained / "train", full)
    assert all(check.ok for check in checks), checks
    names = {check.name for check in checks}
    assert {"loss_fell", "accuracy", "keys", "maps", "capture", "embedding", "checkpoint", "alarms"} <= names
    assert ({"checkpoint_loads", "export_equals", "replayed"} <= names) is full
    assert pictures(trained / "train") == [str(trained / "train/curve.png")]


def edit_json(name: str, change: Callable[[dict], None]) -> Callable[[Path], None]:  # type: ignore[type-arg]
    def edit(out: Path) -> None:
        value = json.loads((out / name).read_text())
        change(value)
        (out / name).write_text(json.dumps(value))

    return edit


def edit_tensors(change: Callable[[dict[str, torch.Tensor]], None]) -> Callable[[Path], None]:
    def edit(out: Path) -> None:
        tensors = load_file(out / "draft/model.safetensors")
        change(tensors)
        save_file(tensors, out / "draft/model.safetensors")

    return edit


def absolute_d2t(tensors: dict[str, torch.Tensor]) -> None:
    tensors["d2t"] = tensors["t2d"].nonzero().flatten()


def other_map(tensors: dict[str, torch.Tensor]) -> None:
    t2d = tensors["t2d"]
    t2d[int(t2d.nonzero()[0])], t2d[int((~t2d).nonzero()[0])] = False, True
    tensors["d2t"] = t2d.nonzero().flatten() - torch.arange(len(tensors["d2t"]))


def worse(result: dict) -> None:  # type: ignore[type-arg]
    result["held_after"]["loss"] = result["held_before"]["loss"] + 1


QUICK = {
    "a tensor is gone": (edit_tensors(lambda t: t.pop("midlayer.hidden_norm.weight")), ["keys"]),
    "the embedding was copied": (
        edit_tensors(lambda t: t.update({"embed_tokens.weight": torch.zeros(96, 32)})), ["keys", "embedding"],
    ),
    "tied": (edit_json("draft/config.json", lambda c: c.update(tie_word_embeddings=True)), ["embedding"]),
    "d2t is absolute": (edit_tensors(absolute_d2t), ["maps"]),
    "another map": (edit_tensors(other_map), ["maps"]),
    "ids off by one": (
        edit_json("draft/config.json", lambda c: c["eagle_config"].update(eagle_aux_hidden_state_layer_ids=[1, 3, 5])),
        ["capture"],
    ),
    "another manifest": (edit_json("plan.json", lambda p: p["captured"].update(manifest_digest="0" * 64)), ["capture"]),
    "EAGLE and not EAGLE3": (
        edit_json("draft/config.json", lambda c: c.update(architectures=["LlamaForCausalLMEagle"])), ["architecture"],
    ),
    "other heads of the same width": (
        edit_json("draft/config.json", lambda c: c.update(num_attention_heads=2, num_key_value_heads=1, head_dim=16)),
        ["shape"],
    ),
    "other positions": (edit_json("draft/config.json", lambda c: c.update(rope_theta=5e5)), ["shape"]),
    "norms of its own": (edit_json("draft/config.json", lambda c: c.update(fc_norm=True)), ["keys", "shape"]),
    "loss rose": (edit_json("result.json", worse), ["loss_fell"]),
    "nothing learnt": (
        edit_json("result.json", lambda r: r["held_after"].update(accuracy=[0.01, 0.0, 0.0])), ["accuracy"],
    ),
    "no checkpoint": (lambda out: shutil.rmtree(out / "checkpoints"), ["checkpoint"]),
    "no result": (lambda out: (out / "result.json").unlink(), ["result"]),
    "cut short": (
        lambda out: (out / "draft/model.safetensors").write_bytes((out / "draft/model.safetensors").read_bytes()[:-9]),
        ["export", "maps"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", QUICK)
def test_a_fault_is_found_by_the_quick_look(trained: Path, tmp_path: Path, fault: str) -> None:
    out = tmp_path / "train"
    shutil.copytree(trained / "train", out)
    change, names = QUICK[fault]
    change(out)
    assert failed(look(trained, out)) == names


def test_a_run_on_normed_captures_is_proven_and_an_export_without_the_norms_is_not(root: Path) -> None:
    train(tiny.config(root, epochs=6.0, capture_norm="rms"))
    out = root / "train"
    checks = look(root, out, full=True)
    assert all(check.ok for check in checks), checks
    edit_json("draft/config.json", lambda c: c.update(fc_norm=False))(out)
    edit_tensors(lambda t: [t.pop(f"fc_norm.{number}.weight") for number in range(3)])(out)  # type: ignore[arg-type, return-value]
    assert failed(look(root, out)) == ["shape"]


def test_a_run_from_before_captures_could_be_normed_is_proven(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "train"
    shutil.copytree(trained / "train", out)
    edit_json("plan.json", lambda p: p["shape"].pop("fc_norm"))(out)
    edit_json("draft/config.json", lambda c: c.pop("fc_norm"))(out)
    assert failed(look(trained, out, full=True)) == []


def scale(name: str, factor: float) -> Callable[[dict[str, torch.Tensor]], None]:
    return lambda tensors: tensors[name].mul_(factor)  # type: ignore[return-value]


def test_an_export_that_is_not_the_checkpoint_is_found_by_the_full_look(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "train"
    shutil.copytree(trained / "train", out)
    edit_tensors(scale("fc.weight", -1.0))(out)
    assert failed(look(trained, out)) == []
    assert failed(look(trained, out, full=True)) == ["export_equals", "replayed"]


def test_a_sound_map_is_proven(shared_root: Path) -> None:
    checks = check_vocab(shared_root / "vocab", shared_root / "features", full=True)
    assert all(check.ok for check in checks), checks
    assert [check.name for check in checks] == ["maps", "account", "coverage", "vocab_size", "recounted"]


def test_a_map_of_rare_tokens_is_contradicted(shared_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "vocab"
    shutil.copytree(shared_root / "vocab", out)
    kept = VocabMap.load(out).kept
    rare = next(i for i in range(tiny.V) if i not in kept)
    VocabMap(sorted_with(kept, rare), tiny.V).save(out)
    assert failed(check_vocab(out, shared_root / "features", full=True)) == ["account", "recounted"]


def sorted_with(kept, rare: int):  # type: ignore[no-untyped-def]
    changed = kept.copy()
    changed[len(kept) // 2] = rare
    changed.sort()
    return changed
