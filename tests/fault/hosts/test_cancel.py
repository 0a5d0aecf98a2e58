"""Cancelling ends every process, whatever it does to get away, or names those that are left."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from bot.adapters.hosts.channel import AgentChannel
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.host import AgentHost
from bot.errors import HostUnreachable
from runner.protocol.files import read_json
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import CANCELLED, EXITED, QUEUED
from tests.contract.hosts.test_host_contract import is_running
from tests.fault.hosts.conftest import OpenLocal
from tests.hosting.attempts import AT_THE_GATE, ended, eventually, see, shell
from tests.hosting.disks import disk_to_freeze

RANK = """
import os, signal, subprocess, sys, time
rank = int(os.environ["RANK"])
if rank == 2:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
# two workers a rank, each in a session of its own, whose parent is gone at once
for _ in range(2):
    subprocess.run(["setsid", "-f", "sh", "-c", 'echo $$ > "$OUT/worker.$$"; exec sleep 600'])
open(os.environ["OUT"] + "/rank.%d" % os.getpid(), "w").write(str(os.getpid()))
while True:
    time.sleep(1)
"""

PARENT = """
import os, subprocess, sys, time
ranks = [subprocess.Popen([sys.executable, "-S", sys.argv[1]], env=dict(os.environ, RANK=str(n))) for n in range(4)]
for rank in ranks:
    rank.wait()
"""


def pids_in(folder: Path) -> list[int]:
    return [int(path.read_text()) for path in sorted(folder.iterdir()) if path.read_text().strip()]


def launch_ranks(host: AgentHost, argv: list[str], tmp_path: Path, script: str) -> tuple[AttemptSpec, list[int]]:
    """Four ranks with two workers each, all of them up."""
    (tmp_path / "rank.py").write_text(script)
    (tmp_path / "parent.py").write_text(PARENT)
    spec = AttemptSpec(
        attempt="r1-train-1",
        run="r1",
        stage="train",
        token=f"ranks.{os.getpid()}",
        argv=argv,
        env={"OUT": "{out}"},
        out="{root}/data",
    )
    host.launch(spec, {})
    data = Path(host.settings.root) / "data"
    pids = eventually(lambda: pids_in(data), lambda pids: len(pids) == 12, 60)
    assert all(is_running(pid) for pid in pids)
    return spec, pids


@pytest.mark.slow
def test_ranks_and_reparented_workers_are_all_ended(local: AgentHost, tmp_path: Path) -> None:
    argv = [sys.executable, "-S", str(tmp_path / "parent.py"), str(tmp_path / "rank.py")]
    spec, pids = launch_ranks(local, argv, tmp_path, RANK)
    view = local.kill(spec.attempt, spec.token, 1.0)
    assert (view.state, view.survivors) == (CANCELLED, [])
    assert not any(is_running(pid) for pid in pids)


@pytest.mark.slow
def test_torchrun_is_ended_with_all_its_ranks(local: AgentHost, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=4", "--no-python"]
    argv += [sys.executable, "-S", str(tmp_path / "rank.py")]
    spec, pids = launch_ranks(local, argv, tmp_path, RANK)
    view = local.kill(spec.attempt, spec.token, 1.0)
    assert (view.state, view.survivors) == (CANCELLED, [])
    assert not any(is_running(pid) for pid in pids)


def test_without_a_supervisor_the_agent_ends_the_tree(local: AgentHost) -> None:
    spec = shell("(trap '' TERM; while :; do sleep 1; done) & setsid sleep 300 & echo $!; sleep 300")
    local.launch(spec, {})
    escaped = int(eventually(lambda: see(local, spec, 0).log, lambda log: log))
    started = read_json(f"{local.settings.root}/attempts/{spec.attempt}/started.json")
    os.kill(started["supervisor"]["pid"], signal.SIGKILL)
    view = local.kill(spec.attempt, spec.token, 0.5)
    assert (view.state, view.survivors) == (CANCELLED, [])
    assert not is_running(escaped) and not is_running(started["pid"])


def test_a_process_that_saves_its_work_is_given_the_time_and_its_exit_code_kept(local: AgentHost) -> None:
    spec = shell('trap "sleep 0.5; echo saved; exit 143" TERM; echo up; while :; do sleep 0.05; done')
    local.launch(spec, {})
    eventually(lambda: see(local, spec, 0).log, lambda log: log)
    began_s = time.monotonic()
    view = local.kill(spec.attempt, spec.token, 30.0)
    assert (view.state, view.rc) == (CANCELLED, 143)
    assert view.log_tail.endswith("saved")
    assert time.monotonic() - began_s < 25


def test_the_order_survives_the_one_who_gave_it(open_local: OpenLocal) -> None:
    """The channel is cut right after the order; the supervisor carries it out alone."""
    host = open_local()
    spec = shell("trap '' TERM; while :; do sleep 0.1; done")
    host.launch(spec, {})
    channel = AgentChannel.open("here", host.channels.link, host.settings, Deadline(20))
    with pytest.raises(HostUnreachable):
        channel.call({"op": "kill", "attempt": spec.attempt, "token": spec.token, "grace_s": 1.0}, b"", Deadline(0.5))
    assert ended(host, spec).state == CANCELLED


def test_an_attempt_that_has_ended_stays_as_it_ended(local: AgentHost) -> None:
    spec = shell("exit 3")
    local.launch(spec, {})
    ended(local, spec)
    view = local.kill(spec.attempt, spec.token, 1.0)
    assert (view.state, view.rc) == (EXITED, 3)


@pytest.mark.slow
def test_survivors_are_named_and_keep_the_lock(local: AgentHost, tmp_path: Path) -> None:
    """One process writes to a frozen disk: not even KILL ends that."""
    with disk_to_freeze(tmp_path / "frozen") as disk:
        first = shell(f"{AT_THE_GATE} echo $$ >&2; exec dd if=/dev/zero of={disk.folder}/file bs=1 count=1", gpus=[0])
        second = shell("exit 4", attempt="r2-train-1", gpus=[0])
        pid = local.launch(first, {}).pid
        disk.freeze()
        (Path(local.settings.root) / "attempts" / first.attempt / "out/go").touch()
        stuck = int(eventually(lambda: see(local, first, 0).log, lambda log: log.endswith(b"\n")))
        eventually(lambda: Path(f"/proc/{stuck}/stat").read_text().rpartition(")")[2].split()[0], lambda s: s == "D")
        view = local.kill(first.attempt, first.token, 0.5)
        assert stuck in view.survivors and pid is not None
        assert local.launch(second, {}).state == QUEUED
        assert see(local, second).why.startswith(f"GPU 0 is held by {first.attempt}")
        disk.thaw()
        assert ended(local, second).rc == 4
        assert see(local, first).state == CANCELLED
