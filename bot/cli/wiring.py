"""Puts the parts together from a configuration: the only place that knows every adapter."""

from pathlib import Path

from bot.adapters.hosts.factory import open_host
from bot.adapters.hosts.settings import HostSettings
from bot.adapters.store import Store, open_store
from bot.config import Config, HostConfig
from bot.ports import Host

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
        python="python3" if local else host.python,
        identity=host.identity,
        known_hosts=host.known_hosts,
        env={},
    )


def open_hosts(config: Config) -> dict[str, Host]:
    """Every configured host; none is connected yet."""
    return {name: open_host(name, host_settings(config, host)) for name, host in config.hosts.items()}


def open_database(config: Config) -> Store:
    """The configured database, its tables up to date."""
    return open_store(config.database_url())
