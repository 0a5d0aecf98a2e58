"""One host of each kind, each over its real transport."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bot.adapters.hosts import HostSettings, open_host
from bot.adapters.hosts.embedded import embedded_route, find_sshd
from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.local import LocalLink
from bot.adapters.hosts.slurm import SlurmHost
from bot.adapters.hosts.ssh import SshLink
from runner.protocol.spec import AttemptSpec, SlurmTask
from runner.protocol.view import AttemptView
from tests.hosting.slurm import Slurm, why_not
from tests.hosting.sshd import Sshd

needs_sshd = pytest.mark.skipif(not find_sshd(), reason="no sshd here: apt-get install openssh-server")
KINDS = [
    pytest.param("local"),
    pytest.param("embedded-python"),
    *(pytest.param(kind, marks=[pytest.mark.sshd, needs_sshd]) for kind in ("embedded", "ssh", "openssh")),
    pytest.param("slurm", marks=[pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not())]),
]


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    running = Sshd(tmp_path_factory.mktemp("sshd"))
    yield running
    running.stop()


class Jobs(SlurmHost):
    """Every attempt is a job."""

    def launch(self, spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        return super().launch(dataclasses.replace(spec, slurm=SlurmTask()), secrets)


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    running = Slurm(tmp_path_factory.mktemp("slurm"))
    yield running
    running.stop()


@pytest.fixture(params=KINDS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AgentHost]:
    root = tmp_path / "root with 'quotes' and $(blanks)"
    if request.param in ("ssh", "openssh"):
        opened = open_host("box", request.getfixturevalue("sshd").settings(request.param, root))
    elif request.param == "slurm":
        opened = Jobs("box", LocalLink(), request.getfixturevalue("slurm").settings(root))
    elif request.param == "embedded-python":
        settings = HostSettings(kind="embedded", root=str(root))
        opened = AgentHost("box", SshLink("box", embedded_route(tmp_path / "keys", sshd="")), settings)
    else:
        settings = HostSettings(kind=request.param, root=str(root), state=str(tmp_path / "keys"))
        opened = open_host("box", settings)
    yield opened
    opened.close()
