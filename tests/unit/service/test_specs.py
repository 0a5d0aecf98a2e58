"""What a host is asked to run."""

from dataclasses import replace

import pytest

from bot.config import HostConfig
from bot.core import events
from bot.core.pipeline import Estimate, Param, Pipeline, StageSpec, bytes_of
from bot.errors import ConfigError
from bot.service.specs import attempt_spec, inputs_of
from tests.unit.core.story import Story

HOST = HostConfig(kind="local", env={"HF_HOME": "{home}/hf"}, secrets=["HF_TOKEN"])


def with_stage(story: Story, name: str, **changes: object) -> Pipeline:
    stages = tuple(replace(s, **changes) if s.id == name else s for s in story.pipeline.stages)
    return replace(story.pipeline, stages=stages, vars={"target": "{root}/models/kimi", "deep": "{target}/x"})


def test_a_verb_gets_its_flags_inputs_and_settings() -> None:
    story = Story()
    story.to_gate_after_extract()
    story.advance(set={"lr": 2e-4})
    story.proof()
    story.begin()
    story.work()
    story.proof()
    pipeline = with_stage(
        story,
        "train",
        args={"target": "{target}", "batch_size": "2", "server_args": "--trust-remote-code"},
        inputs={"features": "extract"},
        secrets=("WANDB",),
    )
    spec = attempt_spec(story.run, story.last(), pipeline, HOST, "/venv/bin/python", "d1")
    assert spec.argv == [
        *("/venv/bin/python", "-m", "runner", "train", "--out", "{root}/runs/r1/train"),
        *(
            "--target",
            "{root}/models/kimi",
            "--batch-size",
            "2",
            "--server-args=--trust-remote-code",
            "--features",
            "{root}/runs/r1/extract",
            "--lr",
            "0.0002",
        ),
    ]
    assert spec.secrets == ["HF_TOKEN", "WANDB"], "names only"
    assert (spec.env, spec.cwd, spec.out) == ({"HF_HOME": "{home}/hf"}, "{code}", "{root}/runs/r1/train")
    assert spec.token == "r1-train-1.seed"


def test_a_start_that_was_taken_back_leaves_the_next_one_the_first_and_nothing_to_read() -> None:
    story = Story()
    story.advance(undo_s=10.0)
    each = Estimate(count="max_samples", seconds_each=1.0, tokens_each=100, bytes_per_token=50)
    samples = Param(name="max_samples", type="int", default=10)
    pipeline = with_stage(story, "synth", params=(samples,), estimate=each)
    story.do(events.Hold)
    source = pipeline.stage("synth")
    read = inputs_of(story.run, replace(pipeline.stage("extract"), inputs={"samples": "synth"}))
    assert read == {"{root}/runs/r1/synth": "synth has not run yet"}
    story.advance()
    story.begin()
    assert story.last().id == "r1-synth-2"
    spec = attempt_spec(story.run, story.last(), pipeline, HOST, "python3", "d1")
    assert spec.limits.disk_bytes == bytes_of(source, {}) == 50_000
    story.do(events.LaunchRefused, attempt=story.last().id, why="needs 0.1 GB free")
    story.do(events.Retry, undo_s=0.0, set={})
    spec = attempt_spec(story.run, story.last(), pipeline, HOST, "python3", "d1")
    assert (story.last().id, spec.limits.disk_bytes) == ("r1-synth-3", 50_000), "the host knows what is there of it"


def test_evidence_is_made_of_the_work_s_output_by_an_attempt_of_its_own() -> None:
    story = Story()
    story.to_gate_after_extract()
    story.advance()
    pipeline = with_stage(story, "extract", verify_args={"target": "{deep}", "samples": "{stage:synth}"})
    spec = attempt_spec(story.run, story.last(), pipeline, HOST, "python3", "d1")
    assert spec.attempt == "r1-extract-1.check1" and spec.out is None
    assert spec.argv == [
        *("python3", "-m", "runner", "verify", "extract", "--subject", "{root}/runs/r1/extract", "--quick"),
        *("--target", "{root}/models/kimi/x", "--samples", "{root}/runs/r1/synth"),
    ]


def test_a_placeholder_that_nothing_fills_is_refused() -> None:
    story = Story()
    story.advance()
    pipeline = with_stage(story, "synth", args={"target": "{nowhere}"})
    with pytest.raises(ConfigError, match="nowhere"):
        attempt_spec(story.run, story.last(), pipeline, HOST, "python3", "d1")


def test_braces_in_other_text_are_left_alone() -> None:
    story = Story()
    story.advance()
    stage = StageSpec(id="synth", title="synth", command=("bash", "-c", 'echo "${A}" {1..3} {"a":1}'), host="box1")
    pipeline = replace(story.pipeline, stages=(stage, *story.pipeline.stages[1:]))
    spec = attempt_spec(story.run, story.last(), pipeline, HOST, "python3", "d1")
    assert spec.argv[2] == 'echo "${A}" {1..3} {"a":1}'


def test_what_a_stage_reads_must_be_there_and_where_it_was_made_is_said() -> None:
    story = Story()
    story.to_gate_after_extract()
    story.advance()
    story.proof()
    story.begin()
    story.work()
    story.proof()
    pipeline = with_stage(story, "train", inputs={"features": "extract"}, args={"extra": "{stage:bench}/x"})
    spec = attempt_spec(story.run, story.last(), pipeline, HOST, "python3", "d1", {"{root}/env/1/made.json": "make it"})
    assert spec.inputs == {
        "{root}/env/1/made.json": "make it",
        "{root}/runs/r1/extract": "extract made it on box1 (r1-extract-1)",
        "{root}/runs/r1/bench": "bench has not run yet",
    }


def test_a_container_prefix_leads_into_it_for_work_and_for_evidence() -> None:
    host = HostConfig(kind="ssh", container=["apptainer", "exec", "--bind", "{root}", "{home}/pm.sif"])
    story = Story()
    story.advance()
    pipeline = with_stage(story, "synth")
    prefix = ["apptainer", "exec", "--bind", "{root}", "{home}/pm.sif", "python3", "-m", "runner"]
    spec = attempt_spec(story.run, story.last(), pipeline, host, "python3", "d1")
    assert spec.argv[:9] == [*prefix, "synth"]
    story.begin()
    story.work()
    look = attempt_spec(story.run, story.last(), pipeline, host, "python3", "d1")
    assert look.argv[:10] == [*prefix, "verify", "synth"]
