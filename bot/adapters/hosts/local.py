"""This machine as a host: the agent is a child process."""

import os
from collections.abc import Mapping

from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.process import ProcessPipe

# What an attempt may inherit of the bot's own environment, which holds the chat's tokens.
_INHERITED = frozenset(
    {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"}
)


class LocalLink:
    """Starts commands by /bin/sh. `env` is added to their environment."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self.env = {name: value for name, value in os.environ.items() if name in _INHERITED} | dict(env or {})

    def open(self, command: str, deadline: Deadline) -> ProcessPipe:
        return ProcessPipe(["/bin/sh", "-c", command], self.env)

    def close(self) -> None:
        """Nothing is held between calls."""
