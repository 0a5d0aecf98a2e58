"""What configuration and pipelines may say of Slurm; whatever the bot itself decides is refused."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bot.core.pipeline import SlurmNeeds

_OPTION = re.compile(r"--([a-z][a-z-]*)(=.*)?")
# Every attempt is one job, by its own name, in its own folder; sizes and places have fields of their own.
_OURS = frozenset(
    {
        "array", "account", "begin", "chdir", "cpus-per-task", "error", "export", "export-file", "gres", "hold",
        "input", "job-name", "no-requeue", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "parsable",
        "partition", "qos", "requeue", "test-only", "time", "wait", "wrap",
    }
)  # fmt: skip


def _checked(option: str) -> str:
    match = _OPTION.fullmatch(option)
    if match is None:
        raise ValueError(f"{option!r} is no long option of sbatch, such as --mem=64G")
    if match[1] in _OURS:
        raise ValueError(
            f"--{match[1]} is not for `options`: the bot sets it, from a field of its own or for every job"
        )
    return option


Option = Annotated[str, AfterValidator(_checked)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SlurmStage(_Strict):
    """What a stage's job is given. `srun` starts the command on every task, else it runs once, on the first node."""

    partition: str = ""
    nodes: int = Field(1, ge=1, le=10_000)
    tasks_per_node: int = Field(1, ge=1, le=1024)
    cpus_per_task: int | None = Field(None, ge=1)
    gpus_per_node: int = Field(0, ge=0, le=64)
    srun: bool = False
    options: list[Option] = []

    def to_core(self) -> SlurmNeeds:
        return SlurmNeeds(**self.model_dump(exclude={"options"}), options=tuple(self.options))


class SlurmHost(_Strict):
    """A host whose attempts are Slurm jobs.

    `bin` is the folder of sbatch, squeue, scancel and srun where the PATH does not have them, `conf` a slurm.conf
    other than the cluster's own, `python` what starts a job on its node, `checks` what jobs that make evidence get.
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    options: list[Option] = []
    bin: str = ""
    conf: str = ""
    python: str = "python3"
    checks: SlurmStage = SlurmStage()
