"""Badly captured data, each kind told apart before a hundred steps are done."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from runner.protocol.errors import CaptureMismatch
from runner.protocol.files import read_json
from runner.train.guards import CourseGuard, look_at_layers
from runner.train.measure import Measured
from runner.train.run import train
from tests.train import tiny

Samples = list[dict[str, torch.Tensor]]


def shifted(by: int) -> Callable[[Samples, torch.Tensor], None]:
    def change(samples: Samples, norm: torch.Tensor) -> None:
        for sample in samples:
            for name in ("aux_hidden_states", "last_hidden_states"):
                sample[name] = sample[name].roll(by, 0)

    return change


def norm_twice(samples: Samples, norm: torch.Tensor) -> None:
    """A norm whose weight is far from even makes the second application visible, as in real models."""
    for sample in samples:
        last = sample["last_hidden_states"]
        sample["last_hidden_states"] = last / last.pow(2).mean(-1, keepdim=True).sqrt() * norm


def norm_missing(samples: Samples, norm: torch.Tensor) -> None:
    for sample in samples:
        sample["last_hidden_states"] = sample["last_hidden_states"] / norm * 7


def wrong_states(samples: Samples, norm: torch.Tensor) -> None:
    for sample in samples:
        sample["last_hidden_states"] = torch.randn_like(sample["last_hidden_states"]) * 9


def wrong_head(samples: Samples, norm: torch.Tensor) -> None:
    for sample in samples:
        sample["last_hidden_states"] = sample["last_hidden_states"].roll(5, 1) / norm.roll(5) * norm


FAULTS = {
    "none": lambda samples, norm: None,
    "token_shift earlier": shifted(1),
    "token_shift later": shifted(-1),
    "norm_twice": norm_twice,
    "norm_missing": norm_missing,
    "wrong_states": wrong_states,
    "wrong_head": wrong_head,
}


def make(root: Path, fault: str) -> Path:
    """A feature set with one fault. The norm's weight varies by factors, so that its use matters."""
    target = tiny.write_target(root / "sick_target")
    norm = torch.exp(1.5 * torch.randn(tiny.H, generator=torch.Generator().manual_seed(3)))
    target["model.norm.weight"] = norm
    from safetensors.torch import save_file

    save_file(target, root / "sick_target/model.safetensors")
    samples = tiny.make_samples(target, 80)
    FAULTS[fault](samples, norm)
    tiny.write_features(root / "sick", samples)
    return root / "sick"


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named(root: Path, fault: str) -> None:
    settings = {"target": root / "sick_target", "features": make(root, fault), "max_steps": 15, "epochs": 50.0}
    train(tiny.config(root, held_out=0.0, pack_tokens=256, **settings))
    alarms = read_json(str(root / "train/result.json"))["alarms"]
    assert [alarm["kind"] for alarm in alarms] == ([] if fault == "none" else [fault.split()[0]])
    if "token_shift" in fault:
        assert fault.split()[1] in alarms[0]["message"]


def test_an_alarm_can_stop_the_run(root: Path) -> None:
    settings = {"target": root / "sick_target", "features": make(root, "token_shift later"), "max_steps": 15}
    with pytest.raises(CaptureMismatch, match="one token later"):
        train(tiny.config(root, held_out=0.0, pack_tokens=256, guards="stop", **settings))


def figures(accuracy: float) -> Measured:
    return Measured(loss=1.0, loss_by_step=(1.0,), accuracy=(accuracy,), coverage=1.0, slots=100)


def alarms_of(accuracies: list[float], norms: list[float]) -> list[str]:
    guard = CourseGuard()
    pairs = zip(accuracies, norms, strict=True)
    return [a.kind for step, (accuracy, norm) in enumerate(pairs, 1) for a in guard.look(step, figures(accuracy), norm)]


def test_course() -> None:
    rising = [0.004 * step for step in range(120)]
    assert alarms_of(rising, [1.0] * 120) == []
    assert alarms_of(rising + [0.05] * 60, [1.0] * 180) == ["falling"]
    assert alarms_of([0.01] * 120, [1.0] * 120) == ["not_learning"]
    assert alarms_of(rising, [1.0] * 100 + [80.0] * 20) == ["norm"]


def test_a_layer_slip_is_named_where_the_target_fits(tmp_path: Path) -> None:
    """States of a real (tiny) model, captured one layer later than the manifest says."""
    from runner import target as targets
    from runner.dataset import FeatureSet
    from runner.hf import load_causal_lm

    assert targets.main(["tiny-llama", "--out", str(tmp_path / "llama")]) == 0
    model = load_causal_lm(tmp_path / "llama", torch.float32)
    ids = torch.randint(8, 500, (20,))
    with torch.no_grad():
        states = model(ids[None], output_hidden_states=True).hidden_states
    for name, slip in (("right", 0), ("slipped", 1)):
        sample = {
            "input_ids": ids.int(), "loss_mask": torch.ones(20, dtype=torch.uint8),
            "aux_hidden_states": torch.cat([states[i + slip][0] for i in (2, 4, 5)], 1),
            "last_hidden_states": states[-1][0],
        }  # fmt: skip
        tiny.write_features(tmp_path / name, [sample], indices=(2, 4, 5), hidden=128, vocab=512)
    right, slipped = (
        list(look_at_layers(tmp_path / "llama", FeatureSet.open(tmp_path / n))) for n in ("right", "slipped")
    )
    assert right == []
    assert [alarm.kind for alarm in slipped] == ["layer_slip"]
    assert "[3, 5, 6]" in slipped[0].message and "[2, 4, 5]" in slipped[0].message
