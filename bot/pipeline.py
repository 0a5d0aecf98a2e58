"""Pipeline files: YAML, checked by pydantic, unknown keys refused, every complaint with its line."""

import zoneinfo
from collections.abc import Iterator
from datetime import time
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bot.core import pipeline as core
from bot.core.pipeline import (
    Budget,
    Estimate,
    GateSpec,
    Pipeline,
    QuietHours,
    StageSpec,
    check_value,
    seconds_of,
    tokens_of,
)
from bot.envfile import read_env
from bot.errors import ConfigError
from bot.slurm import SlurmStage
from bot.yamlfile import read_yaml, validate

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9._-]{0,40}$")]
Scalar = int | float | bool | str


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Param(_Strict):
    type: core.ParamType
    default: Scalar | list[int] | None = None
    low: float | None = None
    high: float | None = None
    choices: list[str] = []
    aliases: list[str] = []
    unit: str = ""
    help: str = ""
    chat: bool = False

    @model_validator(mode="after")
    def _fits(self) -> "_Param":
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        if self.type in ("choice", "names") and not self.choices:
            raise ValueError(f"{self.type} needs `choices`")
        if self.chat and self.type in ("int", "float") and (self.low is None or self.high is None):
            raise ValueError("what chat may change needs `low` and `high`")
        if self.default is not None:
            check_value(self.to_core("value"), _tuple(self.default))
        return self

    def to_core(self, name: str) -> core.Param:
        return core.Param(
            name=name,
            type=self.type,
            default=_tuple(self.default),
            low=self.low,
            high=self.high,
            choices=tuple(self.choices),
            aliases=tuple(self.aliases),
            unit=self.unit,
            help=self.help,
            chat=self.chat,
        )


class _Estimate(_Strict):
    unit: str = ""
    count: str | int = 1
    setup_s: float = Field(0, ge=0)
    seconds_each: float = Field(0, ge=0)
    tokens_each: float = Field(0, ge=0)
    bytes_per_token: float = Field(0, ge=0)
    bytes_fixed: float = Field(0, ge=0)


class _Budget(_Strict):
    tokens: int | None = Field(None, gt=0)
    seconds: float | None = Field(None, gt=0)


class _Quiet(_Strict):
    start: str = Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    end: str = Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    tz: str
    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] = []

    @model_validator(mode="after")
    def _known_zone(self) -> "_Quiet":
        if self.tz not in zoneinfo.available_timezones():
            raise ValueError(f"{self.tz} is no IANA time zone (Europe/Berlin, say)")
        if len(set(self.days)) == len(_DAYS):
            raise ValueError("with all seven days quiet nobody would ever be reminded")
        return self

    def to_core(self) -> QuietHours:
        days = tuple(sorted(_DAYS.index(day) for day in set(self.days)))
        return QuietHours(start=time.fromisoformat(self.start), end=time.fromisoformat(self.end), tz=self.tz, days=days)


_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Person = Annotated[str, Field(pattern=r"^[UWS][A-Z0-9]+$")]


class _Gate(_Strict):
    roles: list[Literal["operator", "admin"]] = Field(["operator", "admin"], min_length=1)
    needed: int = Field(1, ge=1, le=5)
    people: list[Person] = []
    second_above_s: float | None = Field(None, ge=0)
    remind_s: float | None = Field(3600, ge=60)
    escalate_s: float | None = Field(None, ge=60)
    escalate_to: list[Person] = []
    quiet: _Quiet | None = None

    @model_validator(mode="after")
    def _escalates_to_somebody(self) -> "_Gate":
        if (self.escalate_s is None) != (not self.escalate_to):
            raise ValueError("`escalate_s` and `escalate_to` belong together")
        if self.escalate_s is not None and self.remind_s is None:
            raise ValueError("`escalate_s` needs `remind_s`: escalations come with reminders")
        return self

    def to_core(self) -> GateSpec:
        return GateSpec(
            roles=tuple(self.roles),
            needed=self.needed,
            people=tuple(self.people),
            second_above_s=self.second_above_s,
            remind_s=self.remind_s,
            escalate_s=self.escalate_s,
            escalate_to=tuple(self.escalate_to),
            quiet=self.quiet.to_core() if self.quiet else None,
        )


class _Roles(_Strict):
    operators: list[Person] = []
    admins: list[Person] = []


class _Stage(_Strict):
    id: Name
    title: str = ""
    aliases: list[str] = []
    verb: Name | None = None
    command: list[str] = []
    verify: list[str] | None = None
    host: str = ""
    gpus: list[int] = []
    args: dict[str, Scalar] = {}
    inputs: dict[str, Name] = {}
    verify_args: dict[str, Scalar] = {}
    params: dict[Name, _Param] = {}
    env: dict[str, Scalar] = {}
    env_file: str = ""  # KEY=VALUE lines, relative to the pipeline file; `env` wins over it
    secrets: list[str] = []
    own_out: bool = False
    gate: _Gate | None = None
    estimate: _Estimate = _Estimate()
    budget: _Budget = _Budget()
    wall_s: float | None = Field(None, gt=0)
    alone: bool = False
    stall_s: float | None = Field(900, ge=30)
    slurm: SlurmStage | None = None

    @model_validator(mode="after")
    def _one_command(self) -> "_Stage":
        if (self.verb is None) == (not self.command):
            raise ValueError("a stage has either `verb` or `command`")
        if self.slurm is not None and self.slurm.srun and self.verb is not None:
            raise ValueError("srun starts the command once a task: say a `command` that shares its work (torchrun)")
        if self.slurm is not None and not self.slurm.srun and self.slurm.nodes * self.slurm.tasks_per_node > 1:
            raise ValueError("more than one task needs `srun: true`, else the first node runs the command alone")
        return self

    def to_core(self, host: str, folder: Path = Path()) -> StageSpec:
        return StageSpec(
            id=self.id,
            title=self.title or self.id,
            aliases=tuple(self.aliases),
            verb=self.verb,
            command=tuple(self.command),
            verify=None if self.verify is None else tuple(self.verify),
            host=self.host or host,
            gpus=tuple(self.gpus),
            args=_plains(self.args),
            inputs=dict(self.inputs),
            verify_args=_plains(self.verify_args),
            params=tuple(p.to_core(name) for name, p in self.params.items()),
            env={**read_env(folder / self.env_file if self.env_file else None), **_plains(self.env)},
            secrets=tuple(self.secrets),
            own_out=self.own_out,
            gate=self.gate.to_core() if self.gate else None,
            estimate=Estimate(**self.estimate.model_dump()),
            budget=Budget(**self.budget.model_dump()),
            wall_s=self.wall_s,
            slurm=self.slurm.to_core() if self.slurm else None,
            alone=self.alone,
            stall_s=self.stall_s,
        )


class _Pipeline(_Strict):
    version: Literal[1]
    name: Name
    title: str
    names: list[str] = []
    host: str
    vars: dict[str, Scalar] = {}
    budget_s: float | None = Field(None, gt=0)
    roles: _Roles = _Roles()
    stages: list[_Stage] = Field(min_length=1)


def _complaints(stages: tuple[StageSpec, ...], budget_s: float | None) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What does not fit between the parts of a file, with the place that says it."""
    seen: list[str] = []
    for i, stage in enumerate(stages):
        at = ("stages", i)
        if stage.id in seen:
            yield (*at, "id"), f"stage {stage.id} appears twice"
        for flag, source in stage.inputs.items():
            if source not in seen:
                yield (*at, "inputs", flag), f"input {flag} names stage {source}, which does not come before {stage.id}"
        if isinstance(stage.estimate.count, str) and stage.estimate.count not in [p.name for p in stage.params]:
            yield (*at, "estimate", "count"), f"stage {stage.id} has no setting {stage.estimate.count}"
        tokens, seconds, budget = tokens_of(stage, {}), seconds_of(stage, {}), stage.budget
        if budget.tokens is not None and tokens > budget.tokens:
            yield (*at, "budget", "tokens"), f"stage {stage.id}: estimated {tokens:.0f} tokens, budget {budget.tokens}"
        if budget.seconds is not None and seconds > budget.seconds:
            yield (
                (*at, "budget", "seconds"),
                f"stage {stage.id}: estimated {seconds:.0f} s, budget {budget.seconds:g} s",
            )
        seen.append(stage.id)
    planned = sum(stage.budget.seconds or 0 for stage in stages)
    if budget_s is not None and planned > budget_s:
        yield ("budget_s",), f"the stages' budgets come to {planned:g} s, above budget_s {budget_s:g}"


def load_pipeline(path: Path) -> Pipeline:
    """Read a pipeline file. Raises ConfigError with file and line."""
    document = read_yaml(path)
    raw = validate(document, pydantic.TypeAdapter(_Pipeline))
    stages = tuple(stage.to_core(raw.host, path.parent) for stage in raw.stages)
    for location, complaint in _complaints(stages, raw.budget_s):
        raise ConfigError(complaint, document.where(location))
    return Pipeline(
        name=raw.name,
        title=raw.title,
        names=tuple(raw.names),
        stages=stages,
        vars=_plains(raw.vars),
        budget_s=raw.budget_s,
        operators=tuple(raw.roles.operators),
        admins=tuple(raw.roles.admins),
        source=str(path),
    )


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _plain(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plains(values: dict[str, Scalar]) -> dict[str, str]:
    return {name: _plain(value) for name, value in values.items()}
