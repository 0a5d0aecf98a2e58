"""GPUs that are taken: by another attempt, then the second waits its turn; by a stranger, then it is refused."""

import getpass
import os
import signal
import subprocess
from pathlib import Path

import pytest

from bot.errors import LaunchFailed
from runner.protocol.files import read_json
from runner.protocol.view import ABSENT, CANCELLED, EXITED, QUEUED, RUNNING
from tests.fault.hosts.conftest import OpenLocal
from tests.hosting.attempts import ended, eventually, see, shell


def test_the_second_waits_until_the_first_has_ended(open_local: OpenLocal) -> None:
    host = open_local()
    first = shell("sleep 60", attempt="r1-train-1", gpus=[0, 1])
    second = shell('echo "on $CUDA_VISIBLE_DEVICES"', attempt="r2-train-1", gpus=[1, 2])
    third = shell("exit 3", attempt="r3-train-1", gpus=[2])
    fourth = shell("exit 0", attempt="r4-train-1", gpus=[3])
    assert host.launch(first, {}).state == RUNNING
    view = host.launch(second, {})
    assert view.state == QUEUED
    assert view.why.startswith("GPU 1 is held by r1-train-1 (since 2")
    assert host.launch(second, {}).state == QUEUED
    view = host.launch(third, {})
    assert view.state == QUEUED, "nobody passes by those who came first and want the same"
    assert view.why.startswith("behind r2-train-1, which waits for GPU 1, 2 (since 2")
    host.launch(fourth, {})
    assert ended(host, fourth).state == EXITED, "who wants nothing of what is waited for does not wait"
    host.kill(first.attempt, first.token, 1.0)
    view = ended(host, second)
    assert (view.rc, view.log_tail) == (0, "on 1,2")
    assert ended(host, third).rc == 3


def test_when_its_turn_will_come_is_told(open_local: OpenLocal) -> None:
    host = open_local()
    status = '{"version":1,"state":"running","heartbeat_at":"2026-01-02T03:04:05.500Z","eta_s":{"likely":3600.5}}'
    first = shell(
        f"cd \"$POINTSMAN_ATTEMPT_DIR\"; echo '{status}' > status.json; sleep 60", attempt="r1-train-1", gpus=[0]
    )
    second = shell("exit 0", attempt="r2-train-1", gpus=[0])
    host.launch(first, {})
    eventually(lambda: see(host, first).status, bool)
    view = host.launch(second, {})
    assert (view.state, view.until) == (QUEUED, "2026-01-02T04:04:06.000Z")
    host.kill(first.attempt, first.token, 1.0)
    assert ended(host, second).until is None


def test_who_waits_can_be_cancelled(open_local: OpenLocal) -> None:
    host = open_local()
    first = shell("sleep 60", attempt="r1-train-1", gpus=[0])
    second = shell('touch "$OUT/started"', attempt="r2-train-1", gpus=[0], out="{root}/second")
    host.launch(first, {})
    assert host.launch(second, {}).state == QUEUED
    assert host.kill(second.attempt, second.token, 1.0).state == CANCELLED
    host.kill(first.attempt, first.token, 1.0)
    assert host.launch(second, {}).state == CANCELLED
    assert host.fetch("{root}/attempts/r2-train-1/exit.json", 10)


def test_the_lock_outlives_the_supervisor_with_the_process(open_local: OpenLocal) -> None:
    host = open_local()
    first = shell("sleep 60", attempt="r1-train-1", gpus=[0])
    second = shell("exit 0", attempt="r2-train-1", gpus=[0])
    host.launch(first, {})
    started = read_json(f"{host.settings.root}/attempts/r1-train-1/started.json")
    os.kill(started["supervisor"]["pid"], signal.SIGKILL)
    eventually(lambda: see(host, first).why, bool)
    assert host.launch(second, {}).state == QUEUED
    host.kill(first.attempt, first.token, 1.0)
    assert ended(host, second).rc == 0


def test_who_wants_the_host_for_itself_waits_for_all_and_all_wait_for_it(open_local: OpenLocal) -> None:
    host = open_local()
    first, second = (shell("sleep 60", attempt=f"r{n}-train-1", alone=False) for n in (1, 2))
    alone = shell("sleep 60", attempt="r3-bench-1", alone=True)
    third, look = shell("exit 3", attempt="r4-train-1", alone=False), shell("exit 4", attempt="r4-train-1.check1")
    assert [host.launch(spec, {}).state for spec in (first, second)] == [RUNNING, RUNNING], "beside each other"
    view = host.launch(alone, {})
    assert (view.state, view.why) == (QUEUED, "the host is used by r1-train-1, r2-train-1")
    host.kill(first.attempt, first.token, 1.0)
    assert eventually(lambda: see(host, alone).why, lambda why: "r1" not in why) == "the host is used by r2-train-1"
    host.kill(second.attempt, second.token, 1.0)
    assert eventually(lambda: see(host, alone).state, lambda state: state == RUNNING)
    view = host.launch(third, {})
    assert view.state == QUEUED and view.why.startswith("the host is held by r3-bench-1 (since 2")
    host.launch(look, {})
    assert ended(host, look).rc == 4, "a look is beside anything"
    host.kill(alone.attempt, alone.token, 1.0)
    assert ended(host, third).rc == 3


def test_a_stream_of_others_does_not_keep_out_who_wants_the_host_for_itself(open_local: OpenLocal) -> None:
    host = open_local()
    first, second = (shell("sleep 60", attempt=f"r{n}-train-1", alone=False) for n in (1, 2))
    alone, third = (
        shell("sleep 60", attempt="r3-bench-1", alone=True),
        shell("exit 4", attempt="r4-train-1", alone=False),
    )
    assert host.launch(first, {}).state == RUNNING
    assert host.launch(alone, {}).state == QUEUED
    for spec in (second, third):
        view = host.launch(spec, {})
        assert view.state == QUEUED
        assert view.why.startswith("behind r3-bench-1, which waits for the host for itself (since 2")
    host.kill(first.attempt, first.token, 1.0)
    eventually(lambda: see(host, alone).state, lambda state: state == RUNNING)
    assert see(host, second).state == QUEUED
    host.kill(alone.attempt, alone.token, 1.0)
    assert ended(host, third).rc == 4
    assert eventually(lambda: see(host, second).state, lambda state: state == RUNNING)
    host.kill(second.attempt, second.token, 1.0)
    assert [file.name for file in Path(host.settings.root, "queue").iterdir()] == ["lock"]


@pytest.mark.parametrize("how", ["cancelled", "killed"])
def test_who_waits_no_longer_holds_up_nobody(open_local: OpenLocal, how: str) -> None:
    host = open_local()
    first, alone, last = (
        shell("sleep 60", attempt="r1-train-1", alone=False),
        shell("exit 5", attempt="r2-bench-1", alone=True),
        shell("exit 6", attempt="r3-train-1", alone=False),
    )
    for spec in (first, alone, last):
        host.launch(spec, {})
    assert see(host, last).state == QUEUED
    if how == "cancelled":
        host.kill(alone.attempt, alone.token, 1.0)
    else:
        os.kill(read_json(f"{host.settings.root}/attempts/r2-bench-1/queued.json")["pid"], signal.SIGKILL)
    assert ended(host, last).rc == 6
    host.kill(first.attempt, first.token, 1.0)


def test_a_launch_that_is_repeated_keeps_its_place_and_leaves_it_once(open_local: OpenLocal) -> None:
    host = open_local()
    first, alone, last = (
        shell("sleep 60", attempt="r1-train-1", alone=False),
        shell("exit 5", attempt="r2-bench-1", alone=True),
        shell("exit 6", attempt="r3-train-1", alone=False),
    )
    host.launch(first, {})
    host.launch(alone, {})
    os.kill(read_json(f"{host.settings.root}/attempts/r2-bench-1/queued.json")["pid"], signal.SIGKILL)
    eventually(lambda: see(host, alone).state, lambda state: state == ABSENT)
    assert host.launch(alone, {}).state == QUEUED
    assert host.launch(last, {}).why.startswith("behind r2-bench-1")
    host.kill(first.attempt, first.token, 1.0)
    assert (ended(host, alone).rc, ended(host, last).rc) == (5, 6)
    assert [file.name for file in Path(host.settings.root, "queue").iterdir()] == ["lock"]


NVIDIA_SMI = """#!/bin/sh
case "$1" in
  --query-gpu=*) echo "0, GPU-a, NVIDIA H200, 3380, 143771, 96"; echo "1, GPU-b, NVIDIA H200, 0, 143771, 0" ;;
  *) cat "{users}" ;;
esac
"""


def test_a_gpu_that_a_stranger_uses_refuses_the_launch_with_pid_user_and_memory(
    open_local: OpenLocal, tmp_path: Path
) -> None:
    users, smi = tmp_path / "users", tmp_path / "bin/nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(NVIDIA_SMI.format(users=users))
    smi.chmod(0o755)
    host = open_local(PATH=f"{smi.parent}:{os.environ['PATH']}")
    with subprocess.Popen(["sleep", "60"]) as stranger:
        users.write_text(f"GPU-a, {stranger.pid}, 3380\n")
        with pytest.raises(LaunchFailed) as raised:
            host.launch(shell("exit 0", gpus=[0]), {})
        assert raised.value.kind == "gpus-busy"
        assert raised.value.message == f"GPU 0: pid {stranger.pid} of {getpass.getuser()} holds 3.5 GB"
        other = shell("exit 0", attempt="r1-train-2", gpus=[1])
        host.launch(other, {})
        assert ended(host, other).rc == 0
        stranger.kill()
    users.write_text("")
    host.launch(shell("exit 5", gpus=[0]), {})
    assert ended(host, shell("", gpus=[0])).rc == 5


def test_inputs_that_are_not_on_the_host_refuse_the_launch_and_are_told_where_they_are(open_local: OpenLocal) -> None:
    host = open_local()
    inputs = {"{root}/runs/r1/extract": "extract made it on box2 (r1-extract-1)", "/etc": "always there"}
    spec = shell("exit 5", inputs=inputs)
    with pytest.raises(LaunchFailed) as raised:
        host.launch(spec, {})
    assert raised.value.kind == "no-input"
    folder = Path(host.settings.root) / "runs/r1/extract"
    assert raised.value.message == f"{folder} is not on this host: extract made it on box2 (r1-extract-1)"
    folder.mkdir(parents=True)
    host.launch(spec, {})
    assert ended(host, spec).rc == 5
