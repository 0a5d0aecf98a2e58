"""The bot's own configuration file."""

import os
from pathlib import Path
from typing import Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bot.core.pipeline import Pipeline, StageSpec
from bot.errors import ConfigError
from bot.pipeline import load_pipeline
from bot.slurm import SlurmHost
from bot.yamlfile import read_yaml, validate

DEFAULT_PATH = Path("pointsman.yaml")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Slack(_Strict):
    """Where the chat is. Tokens come from the environment, never from a file."""

    base_url: str = "https://slack.com/api/"
    bot_token_env: str = "SLACK_BOT_TOKEN"
    app_token_env: str = "SLACK_APP_TOKEN"
    channel: str

    def tokens(self) -> tuple[str, str]:
        """Bot and app token. Raises ConfigError that says which variable is missing and where tokens come from."""
        found = []
        for name, prefix, page in (
            (self.bot_token_env, "xoxb-", "OAuth & Permissions > Bot User OAuth Token"),
            (self.app_token_env, "xapp-", "Basic Information > App-Level Tokens (scope connections:write)"),
        ):
            value = os.environ.get(name, "")
            if not value.startswith(prefix):
                raise ConfigError(f"environment variable {name} holds no token {prefix}…: take it from {page}")
            found.append(value)
        return found[0], found[1]


class HostConfig(_Strict):
    """One machine that runs attempts.

    Stages run with the interpreter `python`; or in a venv that `host setup` makes with it of the requirement lists
    `packages`; or behind the command prefix `container`, with the `python` in there.
    """

    kind: Literal["ssh", "openssh", "local", "embedded"]
    address: str = ""
    port: int | None = Field(None, ge=1, le=65535)
    root: str = "~/.pointsman"
    python: str = "python3"
    packages: list[str] = []
    container: list[str] = []
    identity: str | None = None
    known_hosts: str | None = None
    secrets: list[str] = []
    env: dict[str, str] = {}
    poll_s: float = Field(5.0, ge=0.05, le=3600)  # the engine looks as often
    slurm: SlurmHost | None = None

    @model_validator(mode="after")
    def _one_environment(self) -> "HostConfig":
        if self.packages and self.container:
            raise ValueError("a container brings its own packages: `packages` and `container` exclude each other")
        return self


class Roles(_Strict):
    """Slack user ids (U…) and user groups (S…). An empty `operators` lets everybody in the channel operate."""

    operators: list[str] = []
    admins: list[str] = []


class Config(_Strict):
    """pointsman.yaml"""

    version: Literal[1]
    database: str = "sqlite:///var/pointsman.db"
    slack: Slack
    hosts: dict[str, HostConfig] = Field(min_length=1)
    pipelines: list[str] = Field(min_length=1)
    roles: Roles = Roles()
    undo_s: float = Field(10.0, ge=0, le=600)
    redraw_s: float = Field(30.0, ge=1, le=600)
    folder: Path = Path()

    def path(self, name: str) -> Path:
        """A path of the file, relative to the file's own folder."""
        return (self.folder / Path(name).expanduser()).absolute()

    def database_url(self) -> str:
        """The SQLAlchemy URL, a relative SQLite path made absolute."""
        prefix = "sqlite:///"
        if self.database.startswith(prefix) and not self.database.startswith(prefix + "/"):
            return prefix + str(self.path(self.database.removeprefix(prefix)))
        return self.database

    def load_pipelines(self) -> dict[str, Pipeline]:
        """Every pipeline by name. Raises ConfigError: unreadable, twice the same name, or an unknown host."""
        found: dict[str, Pipeline] = {}
        for name in self.pipelines:
            pipeline = load_pipeline(self.path(name))
            if pipeline.name in found:
                raise ConfigError(f"pipeline {pipeline.name} is also in {found[pipeline.name].source}", pipeline.source)
            for stage in pipeline.stages:
                if stage.host not in self.hosts:
                    known = ", ".join(sorted(self.hosts))
                    raise ConfigError(f"stage {stage.id} names host {stage.host}; known: {known}", pipeline.source)
                if complaint := _slurm_complaint(stage, self.hosts[stage.host]):
                    raise ConfigError(complaint, pipeline.source)
            found[pipeline.name] = pipeline
        return found


def _slurm_complaint(stage: StageSpec, host: HostConfig) -> str:
    """What does not fit between a stage and the way its host runs attempts, "" when all does."""
    if stage.slurm is not None and host.slurm is None:
        return f"stage {stage.id} has a `slurm` block, but host {stage.host} has none: it runs attempts by itself"
    if host.slurm is not None and (stage.gpus or any(param.type == "gpus" for param in stage.params)):
        return (
            f"stage {stage.id} names GPUs by number, and on host {stage.host} Slurm hands them out: "
            "say `slurm: { gpus_per_node: N }` instead"
        )
    return ""


def load_config(path: Path) -> Config:
    """Read pointsman.yaml. Raises ConfigError with file and line."""
    document = read_yaml(path)
    config = validate(document, pydantic.TypeAdapter(Config))
    return config.model_copy(update={"folder": path.absolute().parent})
