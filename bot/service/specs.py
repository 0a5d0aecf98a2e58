"""What exactly a host is asked to run: an attempt's spec, from the pipeline and the host's settings."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict

from bot.config import HostConfig
from bot.core.attempt import Attempt
from bot.core.model import Run
from bot.core.pipeline import Pipeline, SlurmNeeds, StageSpec, Value, bytes_of, settings_of
from bot.errors import ConfigError
from runner.protocol.spec import PLACEHOLDERS, AttemptSpec, Limits, SlurmTask

_NAME = re.compile(r"\{([a-z_]+(?::[a-z0-9_-]+)?)\}")
_SOURCE = re.compile(r"\{stage:([a-z0-9_-]+)\}")
_LOOKS_WALL_S = 6 * 3600.0


def attempt_spec(
    run: Run,
    attempt: Attempt,
    pipeline: Pipeline,
    host: HostConfig,
    python: str,
    digest: str,
    needs: Mapping[str, str] | None = None,
) -> AttemptSpec:
    """`needs`: what must be on the host besides the stage's inputs. Raises ConfigError for a placeholder unfilled."""
    stage = pipeline.stage(attempt.stage)
    fill = _filler(run, attempt, stage, pipeline, python)
    argv = work_argv(stage, attempt, fill) if attempt.purpose == "work" else look_argv(stage, attempt, fill)
    work = attempt.purpose == "work"
    return AttemptSpec(
        attempt=attempt.id,
        run=run.id,
        stage=attempt.stage,
        token=attempt.token,
        argv=[*map(fill, host.container), *argv],
        env={name: fill(value) for name, value in {**host.env, **stage.env}.items()},
        secrets=sorted({*host.secrets, *stage.secrets}),
        cwd="{code}",
        out=attempt.out if work else None,
        code_digest=digest,
        slurm=slurm_task(stage, host, work),
        gpus=list(stage.gpus) if work else [],
        alone=stage.alone if work else None,
        inputs={**(needs or {}), **(inputs_of(run, stage) if work else {})},
        params={name: list(v) if isinstance(v, tuple) else v for name, v in attempt.settings.items()},
        limits=Limits(
            disk_bytes=int(bytes_of(stage, run.stage(stage.id).overrides)) or None if work else None,
            wall_s=stage.wall_s if work else _LOOKS_WALL_S,
        ),
    )


def work_argv(stage: StageSpec, attempt: Attempt, fill: Callable[[str], str]) -> list[str]:
    """A runner verb with its flags, or the stage's own command."""
    if stage.verb is None:
        return [fill(part) for part in stage.command]
    argv = ["{python}", "-m", "runner", stage.verb, "--out", "{out}"]
    for name, value in stage.args.items():
        argv += _given(name, value)
    for name, source in stage.inputs.items():
        argv += [_flag(name), f"{{stage:{source}}}"]
    for name, setting in attempt.settings.items():
        if name != "gpus":
            argv += _setting(name, setting)
    return [fill(part) for part in argv]


def slurm_task(stage: StageSpec, host: HostConfig, work: bool) -> SlurmTask | None:
    """The job's size; evidence is made in a job of its own size. None where the host runs attempts by itself."""
    if host.slurm is None:
        return None
    needs = (stage.slurm or SlurmNeeds()) if work else host.slurm.checks.to_core()
    return SlurmTask(**{**asdict(needs), "options": list(needs.options)})


def inputs_of(run: Run, stage: StageSpec) -> dict[str, str]:
    """The outputs of other stages that this one reads, each with where it was made."""
    said = " ".join((*stage.command, *stage.args.values()))
    found = {}
    for source in dict.fromkeys((*stage.inputs.values(), *_SOURCE.findall(said))):
        work = run.stage(source).latest("work")
        found[output_of(run, source)] = (
            f"{source} made it on {work.host} ({work.id})" if work else f"{source} has not run yet"
        )
    return found


def look_argv(stage: StageSpec, attempt: Attempt, fill: Callable[[str], str]) -> list[str]:
    """The command that makes evidence: full for a verify, quick for a check right before a start."""
    mode = "--quick" if attempt.purpose == "check" else "--full"
    if stage.verify:
        return [fill(part.replace("{mode}", mode)) for part in stage.verify]
    argv = ["{python}", "-m", "runner", "verify", stage.verb or stage.id, "--subject", "{out}", mode]
    for name, value in stage.verify_args.items():
        argv += _given(name, value)
    return [fill(part) for part in argv]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _setting(name: str, value: Value) -> list[str]:
    if isinstance(value, bool):
        return [_flag(name) if value else f"--no-{name.replace('_', '-')}"]
    if isinstance(value, tuple):
        said = ",".join(map(str, value))
    else:
        said = f"{value:g}" if isinstance(value, float) else str(value)
    return _given(name, said)


def _given(name: str, value: str) -> list[str]:
    """In one piece where a parser would take `--server-args --trust-remote-code` for two flags."""
    return [f"{_flag(name)}={value}"] if value.startswith("-") else [_flag(name), value]


def _filler(run: Run, attempt: Attempt, stage: StageSpec, pipeline: Pipeline, python: str) -> Callable[[str], str]:
    def one(match: re.Match[str]) -> str:
        name = match[1]
        kind, _, rest = name.partition(":")
        if name == "python":
            return python
        if name == "out":
            return attempt.out
        if kind == "stage" and rest:
            return output_of(run, rest)
        if kind == "param" and rest:
            return _plain(settings_of(stage, run.stage(stage.id).overrides).get(rest, ""))
        if "{" + name + "}" in PLACEHOLDERS:
            return match[0]
        if name in pipeline.vars:
            return _NAME.sub(one, pipeline.vars[name])
        raise ConfigError(f"stage {stage.id}: nothing fills {match[0]}", pipeline.source)

    return lambda text: _NAME.sub(one, text)


def _plain(value: Value) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def output_of(run: Run, stage_id: str) -> str:
    """The folder of the stage's newest work."""
    work = run.stage(stage_id).latest("work")
    return work.out if work else f"{{root}}/runs/{run.id}/{stage_id}"
