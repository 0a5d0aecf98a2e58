"""A second network behind a cable that can be pulled."""

import contextlib
import os
import subprocess
from collections.abc import Iterator

import pytest

NEAR, FAR = "10.213.77.1", "10.213.77.2"


class Cable:
    """Leads to `FAR`, in a network namespace of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inside = ("ip", "netns", "exec", name)

    def pull(self) -> None:
        """Packets vanish both ways; nobody is told."""
        ip("-n", self.name, "link", "set", f"{self.name}f", "down")

    def plug(self) -> None:
        ip("-n", self.name, "link", "set", f"{self.name}f", "up")


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def cable() -> Iterator[Cable]:
    """Only for root, where network namespaces may be made."""
    name = f"pm{os.getpid() % 100000}"
    try:
        ip("netns", "add", name)
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("no network namespace can be made here")
    try:
        try:
            ip("link", "add", f"{name}n", "type", "veth", "peer", "name", f"{name}f", "netns", name)
            ip("addr", "add", f"{NEAR}/30", "dev", f"{name}n")
            ip("-n", name, "addr", "add", f"{FAR}/30", "dev", f"{name}f")
            ip("link", "set", f"{name}n", "up")
            ip("-n", name, "link", "set", f"{name}f", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"a network namespace, but no cable into it: {error.stderr.decode().strip()}")
        yield Cable(name)
    finally:  # the namespace itself lives as long as a process in it, the link must not
        with contextlib.suppress(subprocess.CalledProcessError):
            ip("link", "del", f"{name}n")
        ip("netns", "del", name)
