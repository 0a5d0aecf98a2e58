"""Where an ssh address leads: read from OpenSSH itself (`ssh -G`), so that ssh_config means what it means there."""

import getpass
import shutil
import subprocess
from dataclasses import dataclass, replace

from bot.adapters.hosts.settings import HostSettings
from bot.errors import ConfigError

_ASK_S = 10.0
_DEFAULT_KEYS = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")


@dataclass(frozen=True, kw_only=True)
class Destination:
    """One ssh server, and what to show and expect there."""

    hostname: str
    port: int
    user: str
    identities: tuple[str, ...] = ()
    identities_only: bool = False  # of the agent's keys, only those among `identities`
    use_agent: bool = True
    agent_socket: str | None = None  # None: as SSH_AUTH_SOCK says
    known_hosts: tuple[str, ...] = ()
    key_alias: str | None = None
    jumps: tuple[str, ...] = ()  # addresses, first hop first
    proxy_command: str | None = None

    @property
    def key_name(self) -> str:
        """The name that the host's key goes by in known_hosts."""
        if self.key_alias:
            return self.key_alias
        return self.hostname if self.port == 22 else f"[{self.hostname}]:{self.port}"

    def __str__(self) -> str:
        return f"{self.user}@{self.hostname}" + (f":{self.port}" if self.port != 22 else "")


def resolve(settings: HostSettings) -> Destination:
    """What the settings say wins over ssh_config. Raises ConfigError."""
    found = ask_openssh(settings.address, settings.port)
    if settings.identity is not None:
        found = replace(found, identities=(settings.identity,), use_agent=False)
    if settings.known_hosts is not None:
        found = replace(found, known_hosts=(settings.known_hosts,))
    return found


def ask_openssh(address: str, port: int | None) -> Destination:
    """Resolve `[user@]name` or an alias. Without an `ssh` here, the address is taken as it stands."""
    if not address or address.startswith("-"):
        raise ConfigError(f"{address!r} is no ssh address")
    if shutil.which("ssh") is None:
        return plain(address, port)
    argv = ["ssh", "-G", *(["-p", str(port)] if port else []), "--", address]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_ASK_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"ssh -G {address} did not end within {_ASK_S:.0f} s") from error
    if done.returncode != 0:
        raise ConfigError(f"ssh -G {address}: {done.stderr.strip()[-300:]}")
    return parse(done.stdout)


def parse(text: str) -> Destination:
    """The output of `ssh -G`: a keyword and its value a line, some keywords on several lines."""
    said: dict[str, list[str]] = {}
    for line in text.splitlines():
        word, _, value = line.partition(" ")
        said.setdefault(word.lower(), []).append(value)

    def one(word: str) -> str | None:
        value = said.get(word, ["none"])[0]
        return None if value.lower() == "none" else value

    agent = one("identityagent")
    files = said.get("userknownhostsfile", [""])[0].split() + said.get("globalknownhostsfile", [""])[0].split()
    jumps = one("proxyjump")
    return Destination(
        hostname=one("hostname") or "",
        port=int(one("port") or 22),
        user=one("user") or getpass.getuser(),
        identities=tuple(said.get("identityfile", [])),
        identities_only=one("identitiesonly") == "yes",
        use_agent="identityagent" not in said or agent is not None,
        agent_socket=None if agent in (None, "SSH_AUTH_SOCK") else agent,
        known_hosts=tuple(files),
        key_alias=one("hostkeyalias"),
        jumps=tuple(jumps.split(",")) if jumps else (),
        proxy_command=one("proxycommand"),
    )


def plain(address: str, port: int | None) -> Destination:
    user, _, hostname = address.rpartition("@")
    return Destination(
        hostname=hostname,
        port=port or 22,
        user=user or getpass.getuser(),
        identities=_DEFAULT_KEYS,
        known_hosts=("~/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"),
    )


def jump_address(jump: str) -> tuple[str, int | None]:
    """`[user@]host[:port]`, also as `ssh://…` and with an IPv6 address in brackets."""
    jump = jump.removeprefix("ssh://")
    user, at, rest = jump.rpartition("@")
    if rest.startswith("["):
        host, _, tail = rest[1:].partition("]")
        port = tail.removeprefix(":")
    elif rest.count(":") == 1:
        host, _, port = rest.partition(":")
    else:
        host, port = rest, ""
    return f"{user}{at}{host}", int(port) if port else None
