"""What configuration and pipelines may say of Slurm, and what becomes of it."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from bot.cli import check_slurm, wiring
from bot.config import Config, HostConfig, load_config
from bot.core.pipeline import Pipeline, SlurmNeeds
from bot.core.summary.gate import estimate
from bot.errors import ConfigError
from bot.service.specs import attempt_spec
from runner.protocol.spec import AttemptSpec, SlurmTask
from tests.unit.core.story import Story

STAGE = {"id": "train", "command": ["{python}", "-m", "torch.distributed.run"]}


def write(folder: Path, cluster: object = None, **stage: object) -> Path:
    host = {"kind": "ssh", "address": "login", **({} if cluster is None else {"slurm": cluster})}
    body = {"version": 1, "name": "p", "title": "p", "host": "hpc", "stages": [STAGE | stage]}
    (folder / "p.yaml").write_text(yaml.safe_dump(body))
    config = {"version": 1, "slack": {"channel": "C1"}, "hosts": {"hpc": host}, "pipelines": ["p.yaml"]}
    (folder / "pointsman.yaml").write_text(yaml.safe_dump(config))
    return folder / "pointsman.yaml"


def load(path: Path) -> tuple[Config, Pipeline]:
    config = load_config(path)
    return config, config.load_pipelines()["p"]


def test_a_stage_says_what_its_job_is_given(tmp_path: Path) -> None:
    said = {"partition": "gpu", "nodes": 2, "gpus_per_node": 8, "srun": True, "options": ["--mem=0", "--exclusive"]}
    config, pipeline = load(write(tmp_path, {"account": "ml"}, slurm=said))
    assert "on hpc (Slurm: 2 nodes, 8 GPUs each, partition gpu)" in estimate(pipeline.stage("train"), {})
    needs = SlurmNeeds(partition="gpu", nodes=2, gpus_per_node=8, srun=True, options=("--mem=0", "--exclusive"))
    assert pipeline.stage("train").slurm == needs
    settings = wiring.host_settings(config, config.hosts["hpc"])
    assert settings.slurm is not None and settings.slurm.account == "ml"


@pytest.mark.parametrize(
    ("slurm", "stage", "said"),
    [
        (None, {"slurm": {"nodes": 1}}, "host hpc has none"),
        ({}, {"gpus": [0, 1]}, "gpus_per_node"),
        ({}, {"slurm": {"nodes": 2}}, "needs `srun: true`"),
        ({}, {"slurm": {"srun": True}, "verb": "train", "command": []}, "a `command` that shares its work"),
        ({}, {"slurm": {"options": ["--array=1-9"]}}, "--array is not for `options`"),
        ({}, {"slurm": {"options": ["-p gpu"]}}, "no long option"),
        ({}, {"slurm": {"options": ["--requeue"]}}, "--requeue is not for `options`"),
        ({}, {"slurm": {"node": 2}}, "node"),
        ({"partitions": "gpu"}, {}, "partitions"),
        ({"options": ["--output=x"]}, {}, "--output is not for `options`"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, slurm: object, stage: dict, said: str) -> None:
    with pytest.raises(ConfigError, match="(?s)" + said.replace("(", r"\(")) as raised:
        load(write(tmp_path, slurm, **stage))
    assert ".yaml" in str(raised.value), "with the file"


def test_work_gets_the_stage_s_size_and_checks_get_the_host_s() -> None:
    host = HostConfig.model_validate({"kind": "ssh", "slurm": {"checks": {"partition": "cpu", "cpus_per_task": 8}}})
    story = Story()
    story.advance()
    story.begin()
    stages = [replace(s, slurm=SlurmNeeds(partition="gpu", gpus_per_node=8)) for s in story.pipeline.stages]
    pipeline = replace(story.pipeline, stages=tuple(stages))
    spec = attempt_spec(story.run, story.last(), pipeline, host, "python3", "d1")
    assert spec.slurm == SlurmTask(partition="gpu", gpus_per_node=8)
    assert AttemptSpec.from_json(spec.to_json()) == spec
    story.work()
    spec = attempt_spec(story.run, story.last(), pipeline, host, "python3", "d1")
    assert spec.slurm == SlurmTask(partition="cpu", cpus_per_task=8)
    spec = attempt_spec(story.run, story.last(), pipeline, HostConfig(kind="ssh"), "python3", "d1")
    assert spec.slurm is None


def partition(name: str, **fields: object) -> dict[str, object]:
    told = {"name": name, "default": False, "state": "up", "nodes": "4", "cpus": "64", "gres": "gpu:h200:8(S:0-1)"}
    return told | fields


@pytest.mark.parametrize(
    ("told", "bad", "said"),
    [
        ([partition("gpu"), partition("cpu", default=True, gres="(null)")], [], ""),
        ([partition("cpu", default=True)], ["slurm p train"], "there is no partition gpu"),
        ([partition("gpu", state="down"), partition("cpu", default=True)], ["slurm p train"], "is down"),
        ([partition("gpu", gres="gpu:4"), partition("cpu", default=True)], ["slurm p train"], "up to 4"),
        ([partition("gpu", nodes="1"), partition("cpu", default=True)], ["slurm p train"], "of 1 nodes"),
        ([partition("gpu")], ["slurm checks"], "no partition is named"),
    ],
)
def test_the_check_compares_with_what_the_controller_tells(tmp_path: Path, told: list, bad: list, said: str) -> None:
    needs = {"partition": "gpu", "nodes": 2, "gpus_per_node": 8, "srun": True}
    config, _ = load(write(tmp_path, {}, slurm=needs))
    found = list(check_slurm.judge(config, "hpc", told))
    assert [what for what, ok, _, _ in found if not ok] == bad
    assert not bad or said in next(text for what, ok, text, _ in found if not ok)
