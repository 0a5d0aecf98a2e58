"""A host that stops answering: every call is over by its deadline, and nobody else waits for it."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from bot.adapters.hosts import open_host
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.ssh import SshLink
from bot.errors import HostUnreachable
from runner.protocol.view import EXITED, RUNNING
from tests.fault.hosts.conftest import OpenLocal
from tests.hosting.attempts import ended, see, shell
from tests.hosting.sshd import Sshd, free_port

pytestmark = [pytest.mark.sshd, pytest.mark.slow]


def stop_all(sshd: Sshd, number: signal.Signals) -> None:
    """The listener, its sessions and what they run."""
    assert sshd.process is not None
    pids = [sshd.process.pid]
    for pid in pids:
        done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
        pids += [int(child) for child in done.stdout.split()]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def test_every_call_returns_by_its_deadline_and_work_goes_on_afterwards(sshd: Sshd, tmp_path: Path) -> None:
    host = open_host("box", sshd.settings("ssh", tmp_path / "root", call_s=4.0, launch_s=5.0))
    spec = shell("sleep 1; exit 6")
    host.launch(spec, {})
    host.poll([])
    stop_all(sshd, signal.SIGSTOP)
    calls = {
        "standing channel": lambda: host.poll([]),
        "new connection": lambda: host.poll([]),
        "launch": lambda: host.launch(shell("true", attempt="r1-synth-2"), {}),
        "kill": lambda: host.kill(spec.attempt, spec.token, 0.0),
        "ship": lambda: host.ship(os.urandom(100_000), "digest"),
        "fetch": lambda: host.fetch("/etc/passwd", 10),
    }
    for name, call in calls.items():
        began_s = time.monotonic()
        with pytest.raises(HostUnreachable):
            call()
        assert time.monotonic() - began_s < 12, name
    began_s = time.monotonic()
    stop_all(sshd, signal.SIGCONT)
    view = ended(host, spec)
    assert (view.state, view.rc) == (EXITED, 6)
    host.close()


@pytest.mark.parametrize("stopped", [False, True], ids=["nobody reads", "session stopped"])
def test_sending_more_than_fits_is_cut_off(sshd: Sshd, tmp_path: Path, stopped: bool) -> None:
    """paramiko's own writes would wait for ever."""
    link = SshLink.to("box", sshd.settings("ssh", tmp_path / "root"))
    pipe = link.open("sleep 60", Deadline(20))
    if stopped:
        stop_all(sshd, signal.SIGSTOP)
    began_s = time.monotonic()
    with pytest.raises((TimeoutError, ConnectionError)):
        pipe.send(bytes(30_000_000), Deadline(2))
    pipe.close()
    assert time.monotonic() - began_s < 8
    if stopped:
        stop_all(sshd, signal.SIGCONT)
    assert link.open("true", Deadline(20))
    link.close()


def test_hung_hosts_do_not_delay_healthy_ones(sshd: Sshd, open_local: OpenLocal, tmp_path: Path) -> None:
    hung = [open_host(f"box{n}", sshd.settings("ssh", tmp_path / "root", call_s=4.0)) for n in range(3)]
    healthy = [open_local(tmp_path / f"root{n}") for n in range(4)]
    for host in [*hung, *healthy]:
        host.poll([])
    stop_all(sshd, signal.SIGSTOP)
    times: dict[str, list[float]] = {"hung": [], "healthy": []}

    def poll(host: AgentHost, kind: str) -> None:
        began_s = time.monotonic()
        try:
            host.poll([])
        except HostUnreachable:
            assert kind == "hung"
        times[kind].append(time.monotonic() - began_s)

    threads = [threading.Thread(target=poll, args=(host, "hung")) for host in hung]
    threads += [threading.Thread(target=poll, args=(host, "healthy")) for host in healthy]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    stop_all(sshd, signal.SIGCONT)
    assert len(times["hung"]) == 3 and min(times["hung"]) > 3.5
    assert len(times["healthy"]) == 4 and max(times["healthy"]) < 3.5
    for host in hung:
        host.close()


def test_nobody_listens(sshd: Sshd, tmp_path: Path) -> None:
    host = open_host("box", sshd.settings("ssh", tmp_path / "root", port=free_port()))
    with pytest.raises(HostUnreachable, match="Connection refused"):
        host.poll([])
    host.close()


def test_a_name_that_nobody_knows(sshd: Sshd, tmp_path: Path) -> None:
    host = open_host("box", sshd.settings("ssh", tmp_path / "root", address="x@no-such-host.invalid", call_s=5.0))
    with pytest.raises(HostUnreachable, match=r"no-such-host\.invalid"):
        host.poll([])
    host.close()


def test_a_restarted_sshd_is_found_again(sshd: Sshd, remote: AgentHost) -> None:
    spec = shell("sleep 60")
    remote.launch(spec, {})
    remote.poll([])
    sshd.stop()
    with pytest.raises(HostUnreachable):
        remote.poll([])
    with pytest.raises(HostUnreachable):
        remote.poll([])
    sshd.start()
    assert see(remote, spec).state == RUNNING
    remote.kill(spec.attempt, spec.token, 0)
