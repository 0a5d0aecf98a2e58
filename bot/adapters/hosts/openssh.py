"""A host by the `ssh` command: for certificates, hardware keys and whatever else ssh_config can say."""

import os

from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.process import ProcessPipe
from bot.adapters.hosts.settings import HostSettings
from bot.errors import ConfigError

# It never asks anything, never adds a host key by itself, and notices a cut link in about ten seconds.
_OPTIONS = (
    "-T",
    "-oBatchMode=yes",
    "-oStrictHostKeyChecking=yes",
    "-oServerAliveInterval=3",
    "-oServerAliveCountMax=3",
    "-oControlPath=none",
    "-oForwardAgent=no",
    "-oClearAllForwardings=yes",
)


class OpenSshLink:
    """One `ssh` process for each channel."""

    def __init__(self, settings: HostSettings) -> None:
        if settings.address.startswith("-") or not settings.address:
            raise ConfigError(f"{settings.address!r} is no ssh address")
        self.settings = settings

    def open(self, command: str, deadline: Deadline) -> ProcessPipe:
        return ProcessPipe([*self.argv(deadline), command], os.environ)

    def argv(self, deadline: Deadline) -> list[str]:
        argv = ["ssh", *_OPTIONS, f"-oConnectTimeout={max(1, int(deadline.left_s()))}"]
        if self.settings.port is not None:
            argv += ["-p", str(self.settings.port)]
        if self.settings.identity is not None:
            argv += ["-oIdentitiesOnly=yes", "-i", self.settings.identity]
        if self.settings.known_hosts is not None:
            argv += [f"-oUserKnownHostsFile={self.settings.known_hosts}", "-oGlobalKnownHostsFile=none"]
        return [*argv, "--", self.settings.address]

    def close(self) -> None:
        """Each process ends with its channel."""
