"""Hosts to break: a local one, and one behind an sshd of the test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.adapters.hosts import HostSettings, open_host
from bot.adapters.hosts.embedded import find_sshd
from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.local import LocalLink
from tests.hosting.sshd import Sshd

OpenLocal = Callable[..., AgentHost]
StartSshd = Callable[..., Sshd]


@pytest.fixture
def open_local(tmp_path: Path) -> Iterator[OpenLocal]:
    """Opens hosts on one root; keyword arguments become environment variables of their agents."""
    opened = []

    def open_one(root: Path | None = None, **env: str) -> AgentHost:
        settings = HostSettings(kind="local", root=str(root or tmp_path / "root"))
        opened.append(AgentHost("here", LocalLink(env), settings))
        return opened[-1]

    yield open_one
    for host in opened:
        host.close()


@pytest.fixture
def local(open_local: OpenLocal) -> AgentHost:
    return open_local()


@pytest.fixture
def start_sshd(tmp_path: Path) -> Iterator[StartSshd]:
    """Starts sshds, each with more lines of configuration; they are stopped after the test."""
    if not find_sshd():
        pytest.skip("no sshd here: apt-get install openssh-server")
    started: list[Sshd] = []

    def start(more: str = "") -> Sshd:
        started.append(Sshd(tmp_path / f"sshd{len(started)}", more))
        return started[-1]

    yield start
    for sshd in started:
        sshd.stop()


@pytest.fixture(params=["local", pytest.param("ssh", marks=pytest.mark.sshd)])
def open_either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenLocal]:
    """As `open_local`, or the same behind real sshds, one for each environment."""
    if request.param == "local":
        yield request.getfixturevalue("open_local")
        return
    start = request.getfixturevalue("start_sshd")
    servers: dict[str, Sshd] = {}
    opened = []

    def open_one(root: Path | None = None, **env: str) -> AgentHost:
        line = "SetEnv " + " ".join(f'{name}="{value}"' for name, value in env.items()) if env else ""
        if line not in servers:
            servers[line] = start(line)
        opened.append(open_host("box", servers[line].settings("ssh", root or tmp_path / "root")))
        return opened[-1]

    yield open_one
    for host in opened:
        host.close()


@pytest.fixture
def sshd(start_sshd: StartSshd) -> Sshd:
    return start_sshd()


@pytest.fixture
def remote(sshd: Sshd, tmp_path: Path) -> Iterator[AgentHost]:
    host = open_host("box", sshd.settings("ssh", tmp_path / "root", call_s=5.0))
    yield host
    host.close()
