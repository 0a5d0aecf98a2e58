"""A link that is cut without a word: seen in time, the attempt lives on, its exit code is read on return."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.hosts import open_host
from bot.adapters.hosts.host import AgentHost
from bot.errors import HostUnreachable
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import EXITED, RUNNING, AttemptView
from tests.hosting.attempts import ended, eventually, see, shell
from tests.hosting.network import FAR, Cable, cable
from tests.hosting.sshd import Sshd

pytestmark = [pytest.mark.sshd, pytest.mark.slow]


@pytest.fixture
def line() -> Iterator[Cable]:
    with cable() as laid:
        yield laid


@pytest.fixture
def far(line: Cable, tmp_path: Path) -> Iterator[Sshd]:
    running = Sshd(tmp_path / "far", address=FAR, inside=line.inside)
    yield running
    running.stop()


@pytest.mark.parametrize("kind", ["ssh", "openssh"])
def test_a_cut_link_is_seen_and_the_work_goes_on(far: Sshd, line: Cable, tmp_path: Path, kind: str) -> None:
    settings = far.settings(kind, tmp_path / "root", call_s=60.0)  # so that it is not the deadline that sees it
    host = open_host("box", settings)
    spec = shell("sleep 14; exit 8")
    host.launch(spec, {})
    assert see(host, spec).state == RUNNING
    line.pull()
    began_s = time.monotonic()
    with pytest.raises(HostUnreachable):
        host.poll([])
    assert time.monotonic() - began_s < 12
    host.close()

    again = open_host("box", far.settings(kind, tmp_path / "root", call_s=3.0))  # the bot was restarted meanwhile
    with pytest.raises(HostUnreachable):
        again.poll([])
    line.plug()
    view = eventually(lambda: try_to_see(again, spec), bool, 30)
    assert view is not None and view.state in (RUNNING, EXITED)
    assert ended(again, spec).rc == 8
    again.close()


def try_to_see(host: AgentHost, spec: AttemptSpec) -> AttemptView | None:
    try:
        return see(host, spec)
    except HostUnreachable:
        return None
