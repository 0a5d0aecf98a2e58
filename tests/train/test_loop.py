"""A whole run on the tiny world: it learns, leaves what it should, and stops where it must."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from runner.protocol.errors import CaptureMismatch, DataError, Interrupted, NonFiniteLoss, StageError
from runner.protocol.files import read_json
from runner.protocol.status import StatusWriter
from runner.train.checkpoints import Checkpoints
from runner.train.curve import accuracies
from runner.train.features import open_features
from runner.train.loop import Loop
from runner.train.ranks import Ranks
from runner.train.run import train
from runner.train.setup import prepare
from tests.train import tiny


def weights(root: Path, step: int | None = None) -> dict[str, torch.Tensor]:
    checkpoints = Checkpoints(root / "train" / "checkpoints", 2)
    return checkpoints.load(checkpoints.steps()[-1] if step is None else step)[0]


def losses(root: Path) -> dict[int, float]:
    """The training loss of every step, from the newest checkpoint."""
    checkpoints = Checkpoints(root / "train" / "checkpoints", 2)
    history = checkpoints.load(checkpoints.steps()[-1])[1].history
    return {int(line["step"]): line["loss"] for line in history if "loss" in line}


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def make_loop(root: Path, **changes: object) -> Loop:
    config = tiny.config(root, **changes)
    source, captured = open_features(config)
    config.out.mkdir(exist_ok=True)
    return Loop(prepare(config, source, len(captured.indices), Ranks.join("cpu")), StatusWriter(None))


def test_it_learns_and_leaves_checkpoint_drafter_curve_and_numbers(root: Path) -> None:
    train(tiny.config(root, epochs=8.0))
    result = read_json(str(root / "train/result.json"))
    assert result["held_after"]["loss"] < 0.7 * result["held_before"]["loss"]
    assert result["held_after"]["accuracy"][0] > 0.6 > 0.1 > result["held_before"]["accuracy"][0]
    assert result["alarms"] == [] and result["skipped"] == {}
    assert (root / "train/curve.png").read_bytes().startswith(b"\x89PNG")
    config = json.loads((root / "train/draft/config.json").read_text())
    assert config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] == [0, 2, 4]
    assert config["draft_vocab_size"] == 88 and config["tie_word_embeddings"] is False


@pytest.mark.parametrize("threads", [1, 3])
def test_prefetch_threads_do_not_change_the_result(root: Path, threads: int) -> None:
    train(tiny.config(root, max_steps=7))
    plain = weights(root)
    shutil.rmtree(root / "train")
    train(tiny.config(root, max_steps=7, prefetch=threads))
    assert equal(plain, weights(root))


def test_a_signal_saves_and_the_rest_is_as_if_nothing_had_happened(root: Path) -> None:
    train(tiny.config(root))
    undisturbed = weights(root)
    shutil.rmtree(root / "train")
    loop = make_loop(root)
    take = loop.take_step

    def stop_after_five(*given):  # type: ignore[no-untyped-def]
        taken = take(*given)
        if taken.step == 5:
            loop.stopped_by = "SIGTERM"
        return taken

    loop.take_step = stop_after_five  # type: ignore[method-assign]
    with pytest.raises(Interrupted, match="after step 5") as stopped:
        loop.run()
    assert "resumes" in str(stopped.value.hint) and stopped.value.exit_code == 143
    train(tiny.config(root))
    assert equal(undisturbed, weights(root))


def test_a_run_of_other_settings_is_not_resumed(root: Path) -> None:
    train(tiny.config(root, max_steps=2))
    with pytest.raises(DataError, match=r"lr was 0\.003, now 0\.001"):
        train(tiny.config(root, max_steps=2, lr=1e-3))


def forget(root: Path, *names: str) -> None:
    """The newest checkpoint as it was written before these settings existed."""
    checkpoints = Checkpoints(root / "train/checkpoints", 2)
    tensors, position = checkpoints.load(checkpoints.steps()[-1])
    del tensors["rng.cpu"]
    for name in names:
        del position.settings[name]
    checkpoints.save(tensors, position)


def test_a_checkpoint_from_before_a_setting_existed_is_resumed(root: Path) -> None:
    later = {"max_steps": 6, "checkpoint_every": 3}
    train(tiny.config(root, **later))
    undisturbed = weights(root)
    (root / "train/checkpoints/step-000000006.safetensors").unlink()
    forget(root, "capture_norm", "teacher_temperature")
    with pytest.raises(DataError, match="capture_norm was none, now rms"):
        train(tiny.config(root, **later, capture_norm="rms"))
    train(tiny.config(root, **later))
    assert equal(undisturbed, weights(root))


def test_a_map_made_anew_is_not_taken_up_by_a_resume(root: Path) -> None:
    from runner.vocab import VocabMap

    train(tiny.config(root, max_steps=2))
    (root / "other").mkdir()
    kept = VocabMap.load(root / "vocab").kept.copy()
    kept[0] = next(i for i in range(tiny.V) if i not in kept)
    kept.sort()
    VocabMap(kept, tiny.V).save(root / "other")
    with pytest.raises(DataError, match="vocab_digest was"):
        train(tiny.config(root, max_steps=2, vocab=root / "other"))


def test_a_non_finite_state_stops_with_the_sample_named(root: Path) -> None:
    own = own_features(root)
    spoil(own, "c003", lambda tensors: tensors["aux_hidden_states"].__setitem__((5, 0), float("nan")))
    with pytest.raises(NonFiniteLoss, match="hidden states of c003 are not finite"):
        train(tiny.config(root, held_out=0.0, check_samples="size"))
    assert not list((root / "train/checkpoints").glob("*"))


@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_a_damaged_sample_is_named_or_skipped_and_counted(root: Path, damage: str) -> None:
    own = own_features(root)
    path = own / "samples/c003.safetensors"
    body = bytearray(path.read_bytes())
    body[-1] ^= 1
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(body if damage == "flip" else body[:-10])
    with pytest.raises(DataError, match="sample c003"):
        train(tiny.config(root, held_out=0.0))
    shutil.rmtree(root / "train")
    train(tiny.config(root, held_out=0.0, bad_samples="skip"))
    assert list(read_json(str(root / "train/result.json"))["skipped"]) == ["c003"]


def test_samples_without_supervision_never_get_into_a_pack(root: Path) -> None:
    target = tiny.write_target(root / "t")
    samples = tiny.make_samples(target, 6)
    for sample in samples[:3]:
        sample["loss_mask"][:] = 0
    own = root / "own"
    tiny.write_features(own, samples)
    train(tiny.config(root, features=own, held_out=0.0, max_steps=3))
    assert read_json(str(root / "train/result.json"))["train_samples"] == 3


def test_features_of_another_capture_are_refused(root: Path) -> None:
    own = own_features(root)
    manifest = json.loads((own / "manifest.json").read_text())
    manifest["capture"]["captured"] = [2, 4, 6]
    (own / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CaptureMismatch, match=r"captured \[2, 4, 6\]"):
        train(tiny.config(root))


def test_a_full_disk_keeps_the_checkpoint_before(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.protocol.errors import DiskFull

    loop = make_loop(root, max_steps=4, checkpoint_every=2)
    saved = loop.session.checkpoints.save

    def full(tensors, path, metadata=None):  # type: ignore[no-untyped-def]
        raise OSError(28, "No space left on device")

    def save_until_four(tensors, position):  # type: ignore[no-untyped-def]
        if position.step >= 4:
            monkeypatch.setattr("runner.train.checkpoints.save_file", full)
        return saved(tensors, position)

    monkeypatch.setattr(loop.session.checkpoints, "save", save_until_four)
    with pytest.raises(DiskFull, match="no space left"):
        loop.run()
    assert loop.session.checkpoints.steps()[-1] == 2 and loop.session.checkpoints.load(2)[1].step == 2


def test_keep_last_and_best(root: Path) -> None:
    train(tiny.config(root, max_steps=10, checkpoint_every=1, keep_last=2, evaluate_every=4))
    steps = Checkpoints(root / "train/checkpoints", 2).steps()
    best = read_json(str(root / "train/result.json"))["exported_step"]
    assert set(steps) == {9, 10, best}


def test_time_budget_ends_in_good_order(root: Path) -> None:
    train(tiny.config(root, epochs=100000.0, time_budget_s=2.0))
    result = read_json(str(root / "train/result.json"))
    assert 0 < result["steps"] < 100000 and (root / "train/draft/model.safetensors").is_file()


def test_settings_out_of_range_are_refused(root: Path) -> None:
    with pytest.raises(StageError, match="--ttt-length"):
        tiny.config(root, ttt_length=0)
    assert replace(tiny.config(root), ttt_length=1).ttt_length == 1


def own_features(root: Path) -> Path:
    """A copy that a test may spoil, in the place of the shared one."""
    shared = (root / "features").resolve()
    (root / "features").unlink()
    shutil.copytree(shared, root / "features")
    return root / "features"


def spoil(features: Path, name: str, change) -> None:  # type: ignore[no-untyped-def]
    path = features / f"samples/{name}.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def test_the_picture_has_accuracies_although_the_last_line_is_held_out() -> None:
    history = [{"step": 10, "loss": 2.0, "accuracy_0": 0.1, "accuracy_1": 0.0}, {"step": 20, "held_accuracy_0": 0.1}]
    assert accuracies(history) == {"accuracy_0": "step 0", "accuracy_1": "step 1"}
