"""The way to an ssh server: straight, through a proxy command, or through other ssh servers."""

import re

from bot.adapters.hosts.connection import Connection
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.sockets import Stream, connect_process, connect_tcp
from bot.adapters.hosts.sshconfig import Destination, ask_openssh, jump_address


def dial(host: str, destination: Destination, deadline: Deadline) -> Stream:
    """Raises HostError, TimeoutError, ConnectionError."""
    if destination.jumps:
        return dial_through(host, destination, deadline)
    if destination.proxy_command:
        return connect_process(["/bin/sh", "-c", "exec " + expand(destination.proxy_command, destination)])
    return connect_tcp(destination.hostname, destination.port, deadline)


def dial_through(host: str, destination: Destination, deadline: Deadline) -> Stream:
    """Hop by hop; the hops' connections are closed with the stream."""
    hops = [ask_openssh(*jump_address(jump)) for jump in destination.jumps]
    stream = dial(host, hops[0], deadline)
    for hop, beyond in zip(hops, [*hops[1:], destination], strict=True):
        connection = Connection(host, hop, stream)
        try:
            connection.open(deadline)
            tunnel = connection.open_tunnel(beyond.hostname, beyond.port, deadline)
        except BaseException:
            connection.close()
            raise
        stream = Stream(tunnel, connection.close)
    return stream


def expand(command: str, destination: Destination) -> str:
    """The tokens of ssh_config's ProxyCommand."""
    values = {"%": "%", "h": destination.hostname, "p": str(destination.port), "r": destination.user}
    return re.sub(r"%([%hpr])", lambda match: values[match.group(1)], command)
