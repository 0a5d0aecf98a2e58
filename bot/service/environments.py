"""What stages run in on a host: a venv that `host setup` makes there, an interpreter that is there, or a container."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bot.config import HostConfig
from bot.core.pipeline import Pipeline, StageSpec
from bot.errors import ConfigError
from runner.protocol.spec import AttemptSpec, Limits

RUN = "host"  # attempts that prepare or look at a host belong to no run
MADE = "made.json"
RUNNER_PACKAGES = ("torch", "safetensors", "transformers", "tokenizers", "numpy", "gguf", "matplotlib")
SERVING_VERBS = ("synth", "extract", "bench")
_MAKE_S, _LOOK_S = 2 * 3600.0, 300.0
_SCHEME = "1"  # changes with the way environments are made


@dataclass(frozen=True)
class Environment:
    """A venv, named by what it is made of."""

    digest: str
    requirements: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"{{root}}/env/{self.digest}"

    @property
    def python(self) -> str:
        return f"{self.path}/bin/python"


def environment(host: HostConfig, path: Callable[[str], Path]) -> Environment | None:
    """The venv that `packages` asks for, None when an interpreter is used as it is. Raises ConfigError."""
    if not host.packages:
        return None
    lists = tuple(_requirements(path(name)) for name in host.packages)
    parts = "\0".join((_SCHEME, host.python, *lists))
    return Environment(hashlib.sha256(parts.encode()).hexdigest()[:16], lists)


def _requirements(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", str(file)) from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith(("-r", "-c", "--requirement", "--constraint")):
            raise ConfigError("a list that goes to a host may name no other file", f"{file}:{number}")
    return text


def interpreter(host: HostConfig, path: Callable[[str], Path]) -> str:
    """The Python that stages run with, as the host's agent understands it."""
    made = environment(host, path)
    return made.python if made else base_python(host, path)


def base_python(host: HostConfig, path: Callable[[str], Path]) -> str:
    """`python` of the configuration: `~` is the host's home, a relative path is this checkout's."""
    if host.python.startswith("~/"):
        return "{home}/" + host.python[2:]
    if "/" in host.python and not host.python.startswith("/"):
        return str(path(host.python))
    return host.python


def needs(name: str, host: HostConfig, path: Callable[[str], Path]) -> dict[str, str]:
    """What must be on the host before anything of a stage is started there."""
    made = environment(host, path)
    return {f"{made.path}/{MADE}": f"its environment is not made yet: python -m bot host setup {name}"} if made else {}


def packages(pipelines: Iterable[Pipeline], name: str) -> tuple[str, ...]:
    """What the stages on a host import. A stage with a command of its own is its author's business."""
    stages = [stage for pipeline in pipelines for stage in pipeline.stages if stage.host == name]
    found = list(RUNNER_PACKAGES) if any(_is_ours(stage) for stage in stages) else []
    if any(stage.verb in SERVING_VERBS for stage in stages):
        found.append("sglang")
    return tuple(found)


def files(pipelines: Iterable[Pipeline], name: str) -> dict[str, str]:
    """Paths on a host that pipelines take for granted, each with where it is named: models, prompts."""
    found = {}
    for pipeline in pipelines:
        if any(stage.host == name for stage in pipeline.stages):
            for var, value in pipeline.vars.items():
                for path in value.split(","):
                    if path.startswith(("/", "{home}/", "{root}/")):
                        found[path] = f"vars.{var} of {pipeline.source}"
    return found


def _is_ours(stage: StageSpec) -> bool:
    return stage.verb is not None or "runner" in stage.command


def make_spec(made: Environment, python: str, code: str, n: int) -> AttemptSpec:
    """The attempt that makes a venv. Whoever asks for the same one names the same attempt."""
    argv = [python, "-m", "runner.environment", "make", made.path]
    for text in made.requirements:
        argv += ["--requirements", text]
    return _spec(f"{RUN}-environment-{made.digest}.{n}", argv, code, _MAKE_S)


def look_spec(
    label: str,
    python: str,
    container: Iterable[str],
    wanted: Iterable[str],
    paths: Iterable[str],
    code: str,
    inputs: dict[str, str],
) -> AttemptSpec:
    """The attempt that looks at what is there."""
    argv = [*container, python, "-m", "runner.environment", "look"]
    for name in wanted:
        argv += ["--need", name]
    for path in paths:
        argv += ["--path", path]
    return _spec(f"{RUN}-look-{label}", argv, code, _LOOK_S, inputs)


def _spec(attempt: str, argv: list[str], code: str, wall_s: float, inputs: dict[str, str] | None = None) -> AttemptSpec:
    return AttemptSpec(
        attempt=attempt,
        run=RUN,
        stage=attempt.split("-")[1],
        token=f"{attempt}.{RUN}",
        argv=argv,
        cwd="{code}",
        code_digest=code,
        inputs=inputs or {},
        limits=Limits(wall_s=wall_s),
    )
