"""What has to be known of a host to reach it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["ssh", "openssh", "local", "embedded"]


@dataclass(frozen=True, kw_only=True)
class SlurmSettings:
    """How jobs are submitted there. Empty: the cluster's default, the PATH, Slurm's own configuration."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    options: tuple[str, ...] = ()  # further ones of sbatch
    bin: str = ""
    conf: str = ""
    python: str = "python3"  # on the nodes: 3.8 or later, nothing installed


@dataclass(frozen=True, kw_only=True)
class HostSettings:
    """One host of the configuration. Paths on this machine may start with `~`; `root` and `python` are the host's."""

    kind: Kind
    address: str = ""  # [user@]name, or an alias of ssh_config
    port: int | None = None  # None: as ssh_config says
    root: str = "~/.pointsman"
    python: str = "python3"  # what the agent runs with: 3.8 or later, nothing installed
    identity: str | None = None  # a private key's file; None: as ssh_config says, and the agent's keys
    known_hosts: str | None = None  # None: as ssh_config says
    env: Mapping[str, str] = field(default_factory=dict)  # given to every attempt
    state: str | None = None  # embedded: where its keys lie; None: `sshd` in the root
    call_s: float = 12.0  # a poll, reconnecting included
    launch_s: float = 45.0
    slurm: SlurmSettings | None = None  # attempts are jobs
