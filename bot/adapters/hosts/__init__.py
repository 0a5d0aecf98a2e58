"""Hosts: one agent client, and the ways to an agent (ssh, openssh, local, embedded)."""

from bot.adapters.hosts.factory import open_host
from bot.adapters.hosts.settings import HostSettings

__all__ = ["HostSettings", "open_host"]
