"""A full disk on the host: the exit code is kept, launches are refused, nothing half-written is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters.hosts import HostSettings, open_host
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.process import ProcessPipe
from bot.errors import HostError, LaunchFailed
from runner.agent.supervisor import QUEUE_S
from runner.protocol.files import read_json
from runner.protocol.spec import AttemptSpec, Limits
from runner.protocol.view import ABSENT, CANCELLED, EXITED, QUEUED, RUNNING
from tests.fault.hosts.conftest import OpenLocal, StartSshd
from tests.hosting.attempts import AT_THE_GATE, ended, see, shell
from tests.hosting.disks import empty, fill, small_disk


class Unchecked:
    """An agent that does not look for free space first."""

    SCRIPT = "import runner.agent.plan as plan; plan.CONTROL_BYTES = 0; from runner.agent.serve import main; main()"

    def open(self, command: str, deadline: Deadline) -> ProcessPipe:
        return ProcessPipe([sys.executable, "-c", self.SCRIPT], dict(os.environ, PYTHONPATH=str(Path.cwd())))

    def close(self) -> None:
        pass


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as folder:
        yield folder


def let_go(disk: Path, spec: AttemptSpec) -> None:
    (disk / "root/attempts" / spec.attempt / "out/go").touch()


def test_the_exit_code_is_kept_when_the_disk_fills_during_the_attempt(open_local: OpenLocal, disk: Path) -> None:
    host = open_local(disk / "root")
    spec = shell(f"{AT_THE_GATE} echo lost words; exit 9")
    host.launch(spec, {})
    fill(disk)
    let_go(disk, spec)
    view = ended(host, spec)
    assert (view.state, view.rc) == (EXITED, 9)
    assert read_json(str(disk / "root/attempts" / spec.attempt / "exit.json"))["by"] == "supervisor"


def test_the_wrapper_keeps_it_too(open_local: OpenLocal, disk: Path) -> None:
    host = open_local(disk / "root")
    spec = shell(f"{AT_THE_GATE} exit 9")
    host.launch(spec, {})
    fill(disk)
    started = read_json(str(disk / "root/attempts" / spec.attempt / "started.json"))
    os.kill(started["supervisor"]["pid"], signal.SIGKILL)
    let_go(disk, spec)
    view = ended(host, spec)
    assert (view.state, view.rc) == (EXITED, 9)


def test_a_launch_on_a_full_disk_is_refused_and_works_once_there_is_space(open_local: OpenLocal, disk: Path) -> None:
    host = open_local(disk / "root")
    (disk / "root").mkdir()
    fill(disk)
    spec = shell("exit 4")
    with pytest.raises(LaunchFailed) as raised:
        host.launch(spec, {})
    assert raised.value.kind == "no-space"
    assert see(host, spec).state == ABSENT
    assert [path for path in disk.rglob("*") if path.name.endswith((".json", ".tmp")) or "tmp-" in path.name] == []
    empty(disk)
    host.launch(spec, {})
    assert ended(host, spec).rc == 4


def test_what_is_there_already_needs_no_space_again(open_local: OpenLocal, disk: Path) -> None:
    """The disk holds 8 MiB. A retry that goes on from 4 of 6 MB fits, of 10 MB it does not."""
    out = disk / "root/runs/r1/synth"
    (out / "deeper").mkdir(parents=True)
    (out / "deeper/made").write_bytes(b"x" * 4_000_000)
    host = open_local(disk / "root")
    fits = shell("exit 4", attempt="r1-synth-2", out="{root}/runs/r1/synth", limits=Limits(disk_bytes=6_000_000))
    host.launch(fits, {})
    assert ended(host, fits).rc == 4
    large = Limits(disk_bytes=10_000_000)
    with pytest.raises(LaunchFailed, match=r"of which 0\.0 GB are there already, there are 0\.0 GB under") as raised:
        host.launch(replace(fits, attempt="r1-synth-3", limits=large), {})
    assert raised.value.kind == "no-space"
    with pytest.raises(LaunchFailed):
        host.launch(shell("exit 4", attempt="r2-synth-1", limits=Limits(disk_bytes=6_000_000)), {})


@pytest.mark.parametrize("spare", [0, 1, 2, 3, 4, 6, 8, 12])
def test_a_disk_that_fills_during_the_launch_leaves_no_doubt(disk: Path, spare: int) -> None:
    """With room for `spare` pages the launch gets a little further each time."""
    host = AgentHost("here", Unchecked(), HostSettings(kind="local", root=str(disk / "root")))
    host.launch(shell("true", attempt="r1-synth-0"), {})
    ended(host, shell("true", attempt="r1-synth-0"))
    spec = shell("echo started >> /dev/shm/starts; exit 4".replace("/dev/shm", str(disk.parent)))
    (disk / "spare").write_bytes(b"x" * 4096 * spare)
    fill(disk)
    (disk / "spare").unlink()
    try:
        host.launch(spec, {})
    except HostError:
        assert see(host, spec).state == ABSENT
    empty(disk)
    host.launch(spec, {})
    assert ended(host, spec).rc == 4
    assert (disk.parent / "starts").read_text() == "started\n"
    host.close()


def test_an_attempt_can_be_cancelled_on_a_full_disk(open_local: OpenLocal, disk: Path) -> None:
    host = open_local(disk / "root")
    spec = shell("sleep 60")
    host.launch(spec, {})
    fill(disk)
    assert see(host, spec).state == RUNNING
    assert host.kill(spec.attempt, spec.token, 1.0).state == CANCELLED


def test_a_read_only_disk_is_named(open_local: OpenLocal, disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    host = open_local(disk / "root")
    assert host.poll([]).attempts == []
    with pytest.raises(LaunchFailed, match="Read-only file system"):
        host.launch(shell("true"), {})


@pytest.mark.sshd
@pytest.mark.parametrize("state", ["full", "read-only"])
def test_a_home_folder_that_takes_nothing_more(start_sshd: StartSshd, disk: Path, state: str) -> None:
    """Polls work, launches say why they do not; with a root on another disk everything works."""
    running = start_sshd(f"SetEnv HOME={disk}")
    (disk / ".pointsman").mkdir()
    if state == "full":
        fill(disk)
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    host = open_host("box", running.settings("ssh", Path("~/.pointsman")))
    assert host.poll([]).facts.root == f"{disk}/.pointsman"
    with pytest.raises(LaunchFailed, match=r"GB free, there are 0\.0 GB under" if state == "full" else "Read-only"):
        host.launch(shell("true"), {})
    host.close()
    elsewhere = open_host("box", running.settings("ssh", disk.parent / "root"))
    elsewhere.launch(shell("exit 5"), {})
    assert ended(elsewhere, shell("")).rc == 5
    elsewhere.close()


def test_who_waits_for_his_turn_goes_on_waiting_while_the_disk_is_full(open_local: OpenLocal, disk: Path) -> None:
    host = open_local(disk / "root")
    first, second = (shell(f"{AT_THE_GATE} exit 0", attempt=f"r{n}-train-1", alone=False) for n in (1, 2))
    alone = shell("exit 7", attempt="r3-bench-1", alone=True)
    for spec in (first, second, alone):
        host.launch(spec, {})
    assert see(host, alone).why == "the host is used by r1-train-1, r2-train-1"
    fill(disk)
    let_go(disk, first)
    assert ended(host, first).rc == 0
    time.sleep(2 * QUEUE_S)  # what it waits for is another thing now, and cannot be written down
    assert see(host, alone).state == QUEUED
    empty(disk)
    let_go(disk, second)
    assert ended(host, alone).rc == 7
