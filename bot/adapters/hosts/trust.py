"""Trusting a host's key by an operator's word: only the key whose fingerprint was given."""

from pathlib import Path

from bot.adapters.hosts import hostkeys
from bot.adapters.hosts.connection import Connection
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.route import dial
from bot.adapters.hosts.settings import HostSettings
from bot.adapters.hosts.sshconfig import resolve
from bot.errors import ConfigError, HostKeyChanged, HostUnreachable


def trust_host(host: str, settings: HostSettings, fingerprint: str, timeout_s: float = 20.0) -> str:
    """Write the host's key into known_hosts in place of older ones; returns the file's path.

    Raises HostKeyChanged when the host shows a key of another fingerprint, HostUnreachable, ConfigError.
    """
    if settings.kind not in ("ssh", "openssh"):
        raise ConfigError(f"{host} is reached without ssh: there is no key to trust")
    deadline = Deadline(timeout_s)
    destination = resolve(settings)
    try:
        connection = Connection(host, destination, dial(host, destination, deadline))
        try:
            key = connection.ask_key(deadline)
        finally:
            connection.close()
    except (TimeoutError, ConnectionError) as error:
        raise HostUnreachable(host, str(error)) from error
    if key.fingerprint != fingerprint:
        shown = f"{key.get_name()} {key.fingerprint}"
        raise HostKeyChanged(host, f"it shows {shown}, not {fingerprint}. Nothing was changed.")
    path = Path(destination.known_hosts[0]).expanduser()
    hostkeys.trust(path, destination.key_name, key)
    return str(path)
