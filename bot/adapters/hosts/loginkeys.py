"""Keys to log in with: from files, and from an ssh-agent."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
from paramiko.agent import AgentSSH

from bot.adapters.hosts.sshconfig import Destination


class Keys(list[tuple[str, Any]]):
    """Keys to log in with, by a name to show; `unusable` are files with the reason why not."""

    def __init__(self) -> None:
        super().__init__()
        self.unusable: list[tuple[str, str]] = []


@contextlib.contextmanager
def keys_for(destination: Destination) -> Iterator[Keys]:
    """Key files first where the agent's keys are limited to them, else the agent's first, as OpenSSH has it."""
    keys = Keys()
    from_files(destination, keys)
    agent = open_agent(destination)
    try:
        if agent is not None:
            held = [(f"agent {key.fingerprint}", key) for key in agent.get_keys()]
            if destination.identities_only:
                wanted = public_keys(destination)
                held = [each for each in held if each[1].get_base64() in wanted]
            keys[:0] = held
        yield keys
    finally:
        if agent is not None:
            agent._close()


def from_files(destination: Destination, keys: Keys) -> None:
    for name in destination.identities:
        path = Path(name).expanduser()
        if not path.exists():
            continue
        try:
            keys.append((name, paramiko.PKey.from_path(path)))
        except (paramiko.PasswordRequiredException, TypeError):  # the latter is how cryptography says it
            keys.unusable.append((name, "has a passphrase, load it into an ssh-agent"))
        except (paramiko.SSHException, ValueError, OSError, paramiko.pkey.UnknownKeyType) as error:
            keys.unusable.append((name, f"cannot be used ({error or type(error).__name__})"))


def open_agent(destination: Destination) -> Any:
    """A connection to the ssh-agent, None when there is none to ask."""
    socket_path = destination.agent_socket or os.environ.get("SSH_AUTH_SOCK")
    if not destination.use_agent or not socket_path:
        return None
    agent: Any = AgentSSH()
    try:
        agent._connect(agent_socket(socket_path))  # paramiko has no public way to say which socket
        return agent
    except (paramiko.SSHException, EOFError, OSError):
        agent._close()
        return None


def agent_socket(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(5.0)
    try:
        sock.connect(os.path.expandvars(str(Path(path).expanduser())))
    except OSError:
        sock.close()
        raise
    return sock


def public_keys(destination: Destination) -> set[str]:
    """Base64 of the public halves that lie beside the identity files."""
    found = set()
    for name in destination.identities:
        path = Path(f"{name}.pub").expanduser()
        if path.exists():
            found.update(path.read_text("utf-8", "replace").split()[1:2])
    return found
