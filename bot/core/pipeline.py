"""A pipeline as data: stages in order, what chat may change, where a person is asked."""

from dataclasses import dataclass, field
from datetime import time
from typing import Literal

ParamType = Literal["int", "float", "str", "choice", "names", "gpus", "bool"]  # names: some of the choices, "a,b"
Value = int | float | str | bool | tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Param:
    """A typed, bounded setting of a stage. `chat`: an order may change it."""

    name: str
    type: ParamType
    default: Value | None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    unit: str = ""
    help: str = ""
    chat: bool = False


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a stage should need: `count` of `unit` (a param's name or a number), each with time, tokens and bytes."""

    unit: str = ""
    count: str | int = 1
    setup_s: float = 0.0
    seconds_each: float = 0.0
    tokens_each: float = 0.0
    bytes_per_token: float = 0.0
    bytes_fixed: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a stage may use: tokens it handles, seconds it takes."""

    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class QuietHours:
    """When nobody is reminded: from `start` to `end` by the clocks of `tz` (an IANA name), and on whole `days`.

    `days` counts from Monday, 0. A night may go over midnight.
    """

    start: time
    end: time
    tz: str = "UTC"
    days: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GateSpec:
    """The hand-off before a stage. `roles` may pass it, `needed` different people must.

    `people` (users and user groups) narrows the roles down. Above `second_above_s` of estimated time at least two
    people are needed. Reminders after `remind_s`, in growing intervals; from `escalate_s` on `escalate_to` is told too.
    """

    roles: tuple[str, ...] = ("operator", "admin")
    needed: int = 1
    people: tuple[str, ...] = ()
    second_above_s: float | None = None
    remind_s: float | None = 3600.0
    escalate_s: float | None = None
    escalate_to: tuple[str, ...] = ()
    quiet: QuietHours | None = None


@dataclass(frozen=True, kw_only=True)
class SlurmNeeds:
    """What a stage's Slurm job is given; see `runner.protocol.spec.SlurmTask`, which it becomes."""

    partition: str = ""
    nodes: int = 1
    tasks_per_node: int = 1
    cpus_per_task: int | None = None
    gpus_per_node: int = 0
    srun: bool = False
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StageSpec:
    """One stage. `verb` is a runner verb; `command` is any other argv with placeholders."""

    id: str
    title: str
    aliases: tuple[str, ...] = ()
    verb: str | None = None
    command: tuple[str, ...] = ()
    verify: tuple[str, ...] | None = None  # argv that makes evidence; None: the verb's own; (): none
    host: str = ""
    gpus: tuple[int, ...] = ()
    args: dict[str, str] = field(default_factory=dict)  # fixed flags
    inputs: dict[str, str] = field(default_factory=dict)  # flag -> stage whose output it is
    verify_args: dict[str, str] = field(default_factory=dict)
    params: tuple[Param, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    own_out: bool = False  # a folder an attempt instead of one a run
    gate: GateSpec | None = None
    estimate: Estimate = field(default_factory=Estimate)
    budget: Budget = field(default_factory=Budget)
    wall_s: float | None = None
    alone: bool = False  # nothing else of ours runs on the host meanwhile
    stall_s: float | None = 900.0  # idle for so long, it is said to be stuck
    slurm: SlurmNeeds | None = None

    @property
    def measures(self) -> bool:
        """Whether it is a benchmark."""
        return "bench" in (self.id, self.verb)

    def param(self, name: str) -> Param | None:
        """The setting of that name or alias."""
        return next((p for p in self.params if name == p.name or name in p.aliases), None)


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Stages in order, and the words that name the work."""

    name: str
    title: str
    names: tuple[str, ...]
    stages: tuple[StageSpec, ...]
    vars: dict[str, str] = field(default_factory=dict)
    budget_s: float | None = None
    operators: tuple[str, ...] = ()  # instead of the configuration's, when there are any
    admins: tuple[str, ...] = ()
    source: str = ""

    def stage(self, id_: str) -> StageSpec:
        """Raises KeyError."""
        for stage in self.stages:
            if stage.id == id_:
                return stage
        raise KeyError(id_)

    def index(self, id_: str) -> int:
        """Raises KeyError."""
        return self.stages.index(self.stage(id_))

    def after(self, id_: str) -> StageSpec | None:
        """The stage that follows, None at the end."""
        i = self.index(id_) + 1
        return self.stages[i] if i < len(self.stages) else None

    def before(self, id_: str) -> StageSpec | None:
        """The stage that precedes, None at the start."""
        i = self.index(id_)
        return self.stages[i - 1] if i else None

    @property
    def measuring(self) -> StageSpec | None:
        """The benchmark, where there is one: the stage that may be run again at any time."""
        return next((stage for stage in self.stages if stage.measures), None)

    def led_to(self, id_: str) -> tuple[StageSpec, ...]:
        """The stages that passing the gate before `id_` starts, one after the other, up to the next gate."""
        i = self.index(id_)
        rest = self.stages[i + 1 :]
        until = next((k for k, stage in enumerate(rest) if stage.gate), len(rest))
        return (self.stages[i], *rest[:until])

    def gated(self, id_: str) -> StageSpec:
        """The stage whose gate leads to this one: itself, or the nearest before it that has one."""
        behind = self.stages[: self.index(id_) + 1]
        return next((stage for stage in reversed(behind) if stage.gate), behind[-1])

    def leads_to(self, before: str, id_: str) -> bool:
        """Whether passing the gate before `before` leads to the stage `id_`."""
        return id_ in [stage.id for stage in self.led_to(before)]


def suites_of(stage: StageSpec) -> Param | None:
    """The setting that names what a benchmark is run on, where chat may choose it."""
    return next((p for p in stage.params if p.type == "names" and p.chat), None)


def settings_of(stage: StageSpec, overrides: dict[str, Value]) -> dict[str, Value]:
    """The stage's settings with an operator's changes over the defaults; settings without a value are left out."""
    values = {p.name: overrides.get(p.name, p.default) for p in stage.params}
    return {name: value for name, value in values.items() if value is not None}


def count_of(stage: StageSpec, overrides: dict[str, Value]) -> float:
    """How many units the stage's estimate speaks of."""
    count = stage.estimate.count
    if isinstance(count, str):
        value = settings_of(stage, overrides).get(count, 0)
        return float(value) if isinstance(value, int | float) else 0.0
    return float(count)


def seconds_of(stage: StageSpec, overrides: dict[str, Value]) -> float:
    """Estimated duration."""
    return stage.estimate.setup_s + count_of(stage, overrides) * stage.estimate.seconds_each


def tokens_of(stage: StageSpec, overrides: dict[str, Value]) -> float:
    """Estimated tokens handled."""
    return count_of(stage, overrides) * stage.estimate.tokens_each


def bytes_of(stage: StageSpec, overrides: dict[str, Value]) -> float:
    """Estimated bytes left on the host's disk."""
    return tokens_of(stage, overrides) * stage.estimate.bytes_per_token + stage.estimate.bytes_fixed


def check_value(param: Param, value: Value | None) -> None:
    """Raises ValueError, in words, when the value is not of the param's type or outside its bounds."""
    kinds: dict[str, tuple[type, ...]] = {
        "int": (int,),
        "float": (int, float),
        "str": (str,),
        "choice": (str,),
        "names": (str,),
        "bool": (bool,),
        "gpus": (tuple,),
    }
    fits = isinstance(value, kinds[param.type]) and (param.type == "bool") == isinstance(value, bool)
    if not fits:
        raise ValueError(f"{param.name} {value!r} is no {param.type}")
    named = str(value).split(",") if param.type == "names" else [value]
    if param.choices and not set(named) <= set(param.choices):
        raise ValueError(f"{param.name} {value!r} is none of {', '.join(param.choices)}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if param.low is not None and value < param.low:
            raise ValueError(f"{param.name} {value:g} is below {param.low:g}")
        if param.high is not None and value > param.high:
            raise ValueError(f"{param.name} {value:g} is above {param.high:g}")
