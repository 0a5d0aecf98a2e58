"""A host by its kind."""

from dataclasses import replace
from pathlib import Path

from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.local import LocalLink
from bot.adapters.hosts.pipe import Link
from bot.adapters.hosts.settings import HostSettings
from bot.adapters.hosts.slurm import SlurmHost


def open_host(name: str, settings: HostSettings) -> AgentHost:
    """Connects to nothing yet: the first call does."""
    if settings.kind in ("local", "embedded"):
        settings = on_this_machine(settings)
    kind = AgentHost if settings.slurm is None else SlurmHost
    return kind(name, open_link(name, settings), settings)


def on_this_machine(settings: HostSettings) -> HostSettings:
    """Relative paths mean the bot's folder, not the home folder that an ssh session starts in."""
    root = Path(settings.root).expanduser().absolute()
    state = Path(settings.state).expanduser().absolute() if settings.state else root / "sshd"
    python = settings.python
    if "/" in python:
        python = str(Path(python).expanduser().absolute())
    return replace(settings, root=str(root), state=str(state), python=python)


def open_link(name: str, settings: HostSettings) -> Link:
    if settings.kind == "local":
        return LocalLink()
    if settings.kind == "openssh":
        from bot.adapters.hosts.openssh import OpenSshLink

        return OpenSshLink(settings)
    from bot.adapters.hosts.ssh import SshLink  # paramiko takes its time to import

    if settings.kind == "embedded":
        from bot.adapters.hosts.embedded import embedded_route

        assert settings.state is not None
        return SshLink(name, embedded_route(Path(settings.state)))
    return SshLink.to(name, settings)
