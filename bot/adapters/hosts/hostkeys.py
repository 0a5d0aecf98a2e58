"""Trusted host keys: read from known_hosts, never added by themselves, compared before anything is sent."""

import fnmatch
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paramiko.hostkeys import HostKeyEntry, HostKeys, InvalidHostKey

from bot.errors import HostKeyChanged


@dataclass(frozen=True)
class KnownKeys:
    """What known_hosts says of one name."""

    trusted: list[Any] = field(default_factory=list)  # paramiko.PKey
    revoked: list[Any] = field(default_factory=list)

    @property
    def types(self) -> list[str]:
        return list(dict.fromkeys(key.get_name() for key in self.trusted))


def read(paths: Iterable[str], name: str) -> KnownKeys:
    """Lines that cannot be read, and certificate authorities, are passed over: paramiko cannot use them."""
    known = KnownKeys()
    for path in paths:
        for mark, entry in entries(Path(path).expanduser()):
            if any(matches(pattern, name) for pattern in entry.hostnames):
                (known.revoked if mark == "@revoked" else known.trusted).append(entry.key)
    return known


def entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Each line's mark ("" or "@revoked") and entry."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return
    for line in lines:
        parsed = parse_line(line)
        if parsed is not None:
            yield parsed


def parse_line(line: str) -> tuple[str, Any] | None:
    line = line.strip()
    mark = ""
    if line.startswith("@"):
        mark, _, line = line.partition(" ")
    if not line or line.startswith("#") or mark not in ("", "@revoked"):
        return None
    try:
        entry = HostKeyEntry.from_line(line)
    except (InvalidHostKey, ValueError):
        return None
    return (mark, entry) if entry is not None else None


def matches(pattern: str, name: str) -> bool:
    """Whether a name, a wildcard or a hashed name of known_hosts means `name`."""
    if pattern.startswith("|1|"):
        return bool(HostKeys.hash_host(name, pattern) == pattern)
    return fnmatch.fnmatchcase(name.lower(), pattern.lower().replace("[", "[[]"))


def check(host: str, name: str, known: KnownKeys, shown: Any) -> None:
    """Raises HostKeyChanged unless the key that the host shows is trusted."""
    new = f"{shown.get_name()} {shown.fingerprint}"
    if shown in known.revoked:
        raise HostKeyChanged(host, f"{name} shows a revoked key ({new}). Nothing was sent.")
    if shown in known.trusted:
        return
    remedy = f"If that is right: `python -m bot trust {host} {shown.fingerprint}`"
    if not known.trusted:
        raise HostKeyChanged(host, f"no key of {name} is trusted yet. It shows {new}. Nothing was sent. {remedy}")
    old = ", ".join(f"{key.get_name()} {key.fingerprint}" for key in known.trusted)
    raise HostKeyChanged(host, f"the key of {name} has changed from {old} to {new}. Nothing was sent. {remedy}")


def trust(path: Path, name: str, key: Any) -> None:
    """Make `key` the only trusted key of `name` in a known_hosts file; other names' lines stay as they are."""
    lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
    kept = [line for line in (without(line, name) for line in lines) if line is not None]
    kept.append(f"{name} {key.get_name()} {key.get_base64()}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temp = tempfile.mkstemp(prefix=".known_hosts-", dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(kept) + "\n")
        file.flush()
        os.fsync(file.fileno())
    Path(temp).replace(path)


def without(line: str, name: str) -> str | None:
    """A line of known_hosts that no longer speaks of `name`; None when nothing is left of it."""
    parsed = parse_line(line)
    if parsed is None or parsed[0] or (name not in line and not line.startswith("|1|")):
        return line
    patterns, _, rest = line.strip().partition(" ")
    others = [each for each in patterns.split(",") if each != name and not (each[0] == "|" and matches(each, name))]
    return f"{','.join(others)} {rest}" if others else None
