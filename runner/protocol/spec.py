"""What an attempt is asked to do: `spec.json`."""

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional

from runner.protocol import VERSION
from runner.protocol.errors import ProtocolError

PLACEHOLDERS = ("{code}", "{attempt}", "{root}", "{out}", "{home}")


@dataclass(frozen=True)
class Limits:
    """`disk_bytes`: what the output takes up in all; what is there of it already needs no space again.

    `wall_s`: the supervisor ends the attempt after it.
    """

    disk_bytes: Optional[int] = None
    wall_s: Optional[float] = None


@dataclass(frozen=True)
class SlurmTask:
    """What a Slurm job is given. `srun`: every task runs the command, else the first node alone does.

    An empty `partition` means the host's, or the cluster's default; `options` are further ones of sbatch.
    """

    partition: str = ""
    nodes: int = 1
    tasks_per_node: int = 1
    cpus_per_task: Optional[int] = None
    gpus_per_node: int = 0
    srun: bool = False
    options: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class AttemptSpec:
    """One remote launch of a stage.

    `argv`, the values of `env`, `cwd`, `out` and the keys of `inputs` may hold PLACEHOLDERS, which the agent replaces
    by host paths.
    `secrets` are names alone: their values travel apart and reach the process as environment, never a file.
    `slurm` counts on hosts whose attempts are Slurm jobs.
    `out` is the stage's data folder (kept across attempts); None means the attempt's own `out/`.
    `alone`: nothing else of ours runs on the host meanwhile; False: beside others; None: beside anything.
    `inputs` are paths that must be on the host, each with words that say where to find what is missing.
    """

    attempt: str
    run: str
    stage: str
    token: str
    argv: List[str]
    env: Dict[str, str] = field(default_factory=dict)
    secrets: List[str] = field(default_factory=list)
    cwd: Optional[str] = None
    out: Optional[str] = None
    code_digest: Optional[str] = None
    gpus: List[int] = field(default_factory=list)
    params: Dict[str, Any] = field(default_factory=dict)
    inputs: Dict[str, str] = field(default_factory=dict)
    alone: Optional[bool] = None
    limits: Limits = field(default_factory=Limits)
    slurm: Optional[SlurmTask] = None

    def to_json(self) -> Dict[str, Any]:
        return dict(asdict(self), version=VERSION)

    @staticmethod
    def from_json(value: Dict[str, Any]) -> "AttemptSpec":
        """Raises ProtocolError for missing or unknown fields, or another version."""
        body = dict(value)
        if body.pop("version", None) != VERSION:
            raise ProtocolError("spec has version %r, this code reads %d" % (value.get("version"), VERSION))
        try:
            body["limits"] = Limits(**(body.get("limits") or {}))
            body["slurm"] = SlurmTask(**body["slurm"]) if body.get("slurm") else None
            return AttemptSpec(**body)
        except TypeError as error:
            raise ProtocolError("spec does not fit: %s" % error) from error
