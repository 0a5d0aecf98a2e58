"""A host by its kind."""

from pathlib import Path

from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.local import LocalLink
from bot.adapters.hosts.pipe import Link
from bot.adapters.hosts.settings import HostSettings


def open_host(name: str, settings: HostSettings) -> AgentHost:
    """Connects to nothing yet: the first call does."""
    return AgentHost(name, open_link(name, settings), settings)


def open_link(name: str, settings: HostSettings) -> Link:
    if settings.kind == "local":
        return LocalLink()
    if settings.kind == "openssh":
        from bot.adapters.hosts.openssh import OpenSshLink

        return OpenSshLink(settings)
    from bot.adapters.hosts.ssh import SshLink  # paramiko takes its time to import

    if settings.kind == "embedded":
        from bot.adapters.hosts.embedded import embedded_dialer

        state = Path(settings.state or Path(settings.root).expanduser() / "sshd")
        return SshLink(name, embedded_dialer(state))
    return SshLink.to(name, settings)
