"""After a restart of the host: lost is said at once, with the last words, and no stranger is signalled."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.hosts.host import AgentHost
from runner.agent.identity import BOOT_ID_VARIABLE, start_ticks
from runner.protocol.files import read_json, write_json
from runner.protocol.view import ABSENT, LOST, QUEUED, RUNNING
from tests.fault.hosts.conftest import OpenLocal
from tests.hosting.attempts import ended, eventually, see, shell

SPEC = shell(
    'cd "$POINTSMAN_ATTEMPT_DIR"; echo \'{"version":1,"state":"running","message":"resume from 7"}\' > status.json;'
    "echo the last line; exec sleep 60"
)


@pytest.fixture
def boot(tmp_path: Path) -> Path:
    path = tmp_path / "boot_id"
    path.write_text("before\n")
    return path


@pytest.fixture
def host(open_local: OpenLocal, boot: Path) -> Iterator[AgentHost]:
    opened = open_local(**{BOOT_ID_VARIABLE: str(boot)})
    opened.launch(SPEC, {})
    eventually(lambda: see(opened, SPEC), lambda view: view.status and view.log_size)
    yield opened
    boot.write_text("before\n")
    opened.kill(SPEC.attempt, SPEC.token, 0)


def started_path(host: AgentHost) -> str:
    return f"{host.settings.root}/attempts/{SPEC.attempt}/started.json"


def test_another_boot_id_means_lost_with_the_last_words(host: AgentHost, boot: Path) -> None:
    boot.write_text("after\n")
    view = see(host, SPEC)
    assert (view.state, view.why, view.log_tail) == (LOST, "the host was restarted", "the last line")
    assert view.status is not None and view.status["message"] == "resume from 7"


def test_nothing_of_another_boot_is_signalled(host: AgentHost, boot: Path) -> None:
    pid = see(host, SPEC).pid
    assert pid is not None
    boot.write_text("after\n")
    assert host.kill(SPEC.attempt, SPEC.token, 0).state == LOST
    assert start_ticks(pid) == read_json(started_path(host))["start_ticks"]


def test_a_stranger_with_the_same_pid_is_neither_believed_nor_signalled(host: AgentHost) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
        started = read_json(started_path(host))
        os.kill(started["supervisor"]["pid"], signal.SIGKILL)
        os.killpg(started["pid"], signal.SIGKILL)
        eventually(lambda: see(host, SPEC).state, lambda state: state == LOST)
        for record in (started, started["supervisor"]):
            record["pid"] = stranger.pid
        write_json(started_path(host), started)
        view = see(host, SPEC)
        assert (view.state, view.why) == (LOST, "it ended without a record")
        assert host.kill(SPEC.attempt, SPEC.token, 0).state == LOST
        assert stranger.poll() is None
        stranger.kill()


def test_started_elsewhere_is_said(host: AgentHost, boot: Path) -> None:
    started = read_json(started_path(host))
    elsewhere = dict(started, host="othernode", boot_id="x", supervisor=dict(started["supervisor"], boot_id="x"))
    write_json(started_path(host), elsewhere)
    view = see(host, SPEC)
    assert view.state == LOST and "started on othernode" in view.why
    write_json(started_path(host), started)


def test_an_attempt_directory_that_is_gone_is_absent(host: AgentHost) -> None:
    pid = see(host, SPEC).pid
    folder = Path(host.settings.root) / "attempts" / SPEC.attempt
    kept = shutil.move(str(folder), str(folder.parent.parent))
    assert see(host, SPEC).state == ABSENT
    shutil.move(kept, str(folder))
    assert see(host, SPEC).state == RUNNING and see(host, SPEC).pid == pid


def test_what_is_lost_holds_no_gpu(host: AgentHost) -> None:
    spec = shell("sleep 60", attempt="r2-train-1", gpus=[3])
    host.launch(spec, {})
    started = read_json(f"{host.settings.root}/attempts/{spec.attempt}/started.json")
    second = shell("exit 4", attempt="r3-train-1", gpus=[3])
    assert host.launch(second, {}).state == QUEUED
    os.kill(started["supervisor"]["pid"], signal.SIGKILL)  # as the end of a boot does
    os.killpg(started["pid"], signal.SIGKILL)
    assert eventually(lambda: see(host, spec).state, lambda state: state == LOST)
    assert ended(host, second).rc == 4
