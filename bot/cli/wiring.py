"""Puts the parts together from a configuration: the only place that knows every adapter."""

from pathlib import Path

from bot.adapters.hosts.factory import open_host
from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.settings import HostSettings, SlurmSettings
from bot.adapters.store import Store, open_store
from bot.config import Config, HostConfig
from bot.errors import CommandError
from bot.ports import Host
from bot.service.holder import is_gone

CHECKOUT = Path(__file__).resolve().parents[2]


def host_settings(config: Config, host: HostConfig) -> HostSettings:
    """The adapter's settings of one configured host; local paths are relative to the configuration file."""
    local = host.kind in ("local", "embedded")
    root = host.root if host.root.startswith("~") or not local else str(config.path(host.root))
    return HostSettings(
        kind=host.kind,
        address=host.address,
        port=host.port,
        root=root,
        python="python3" if local or host.container else host.python,  # of the agent; a container's is for stages
        identity=host.identity,
        known_hosts=host.known_hosts,
        env={},
        slurm=slurm_settings(host),
    )


def slurm_settings(host: HostConfig) -> SlurmSettings | None:
    """How jobs are submitted there; None where the host runs attempts by itself."""
    if host.slurm is None:
        return None
    given = host.slurm.model_dump(exclude={"checks", "options"})
    return SlurmSettings(**given, options=tuple(host.slurm.options))


def host_config(config: Config, name: str) -> HostConfig:
    """Raises CommandError for a name that is not configured."""
    if name not in config.hosts:
        raise CommandError(f"no host is called {name}", f"configured: {', '.join(sorted(config.hosts))}")
    return config.hosts[name]


def connect(config: Config, name: str) -> AgentHost:
    """One host with everything that an agent can do; not connected yet. Raises CommandError."""
    return open_host(name, host_settings(config, host_config(config, name)))


def open_hosts(config: Config) -> dict[str, Host]:
    """Every configured host; none is connected yet."""
    return {name: open_host(name, host_settings(config, host)) for name, host in config.hosts.items()}


def open_database(config: Config) -> Store:
    """The configured database, its tables up to date. Raises BotError as `open_store`."""
    return open_store(config.database_url(), is_gone)
