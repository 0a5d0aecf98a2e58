"""What a host tells of folders and processes that are there already, how one is watched, and what may be removed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.hosts import HostSettings, open_host
from bot.adapters.hosts.host import AgentHost
from bot.errors import LaunchFailed
from runner.agent.identity import stat
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import CANCELLED, EXITED, RUNNING
from tests.hosting.attempts import ended, eventually, see

CHILDREN = """
import subprocess, sys, time
child = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"])
print(child.pid, flush=True)
time.sleep(300)
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[AgentHost]:
    opened = open_host("here", HostSettings(kind="local", root=str(tmp_path / "root")))
    yield opened
    opened.close()


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Work that somebody started by hand, with a child that ignores TERM."""
    (tmp_path / "out").mkdir()
    with (tmp_path / "stranger.log").open("wb") as log:
        argv = [sys.executable, "-c", CHILDREN, "--out", "out"]
        process = subprocess.Popen(argv, cwd=tmp_path, stdout=log, start_new_session=True)
    eventually(lambda: (tmp_path / "stranger.log").read_text(), bool)
    yield process
    for pid in (process.pid, int((tmp_path / "stranger.log").read_text())):
        if Path(f"/proc/{pid}").exists():
            os.kill(pid, signal.SIGKILL)
    process.wait()


def adoption(out: str) -> AttemptSpec:
    return AttemptSpec(attempt="r1-train-1", run="r1", stage="train", token="r1-train-1.t", argv=["by hand"], out=out)


def test_a_folder_is_told_with_its_size(host: AgentHost, tmp_path: Path) -> None:
    folder = tmp_path / "a 'b' $(c)"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/x").write_bytes(b"x" * 100_000)
    (folder / "link").symlink_to("/")
    found = host.inspect(path=str(folder))
    assert (found["path"], found["files"], found["whole"]) == (str(folder), 2, True)
    assert 100_000 <= found["bytes"] < 200_000
    for path in (tmp_path / "none", folder / "deep/x", folder / "deep/../../root"):
        with pytest.raises(LaunchFailed) as raised:
            host.inspect(path=str(path))
        assert raised.value.kind == "no-folder"


def test_a_process_is_watched_from_its_adoption_to_its_end(
    host: AgentHost, stranger: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    found = host.inspect(pid=stranger.pid)
    assert found["out"] == str(tmp_path / "out") and "--out out" in found["command"]
    spec = adoption(found["out"])
    for _ in range(2):
        view = host.adopt(spec, found)
        assert (view.state, view.pid) == (RUNNING, stranger.pid)
    log = see(host, spec, 0).log.decode()
    assert log == (tmp_path / "stranger.log").read_text(), "its output is the attempt's log"
    (tmp_path / "out/result.json").write_text('{"version": 1, "stage": "train"}')
    stranger.kill()
    stranger.wait()
    view = ended(host, spec)
    assert (view.state, view.rc, view.result) == (EXITED, None, {"version": 1, "stage": "train"})


def test_an_adopted_process_is_ended_with_its_children(
    host: AgentHost, stranger: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    child = int((tmp_path / "stranger.log").read_text())
    found = host.inspect(pid=stranger.pid)
    spec = adoption(found["out"])
    host.adopt(spec, found)
    view = host.kill(spec.attempt, spec.token, 0.5)
    assert (view.state, view.survivors) == (CANCELLED, [])
    left = stat(child)
    assert left is None or left.state == "Z"


def test_another_process_of_that_pid_is_not_adopted(
    host: AgentHost, stranger: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    found = host.inspect(pid=stranger.pid)
    with pytest.raises(LaunchFailed, match="another process") as raised:
        host.adopt(adoption(found["out"]), {**found, "start_ticks": found["start_ticks"] - 1})
    assert raised.value.kind == "no-process"
    with pytest.raises(LaunchFailed) as raised:
        host.inspect(pid=2**22 - 7)
    assert raised.value.kind == "no-process"


@pytest.fixture
def made(host: AgentHost, tmp_path: Path) -> Path:
    """The root, with what two runs made."""
    root = tmp_path / "root"
    for name in ("runs/r1/synth", "runs/r1/extract/samples", "runs/r2/extract", "attempts/r1-synth-1"):
        (root / name).mkdir(parents=True)
        (root / name / "data").write_bytes(b"x" * 50_000)
    (root / "attempts/r1-synth-1/out").symlink_to(root / "runs/r2/extract")
    return root


def test_what_is_ours_is_told_and_removed_for_good(host: AgentHost, made: Path) -> None:
    paths = ["{root}/runs/r1/synth", "{root}/runs/r1/extract", "{root}/runs/r1/none", "{root}/attempts/r1-synth-1"]
    found = host.usage(paths, {"{root}/runs/r2/extract": "r2 extract"})
    assert [(Path(each["path"]).name, each["kept"]) for each in found] == [
        ("synth", ""),
        ("extract", ""),
        ("r1-synth-1", ""),
    ]
    assert found[0]["bytes"] >= 50_000
    removed = host.remove(paths, {"{root}/runs/r2/extract": "r2 extract"})
    assert len(removed) == 3
    assert sorted(path.name for path in (made / "runs").iterdir()) == ["r2"]
    eventually(lambda: list((made / "trash").iterdir()), lambda left: not left)
    assert (made / "runs/r2/extract/data").exists(), "a link is not followed"


@pytest.mark.parametrize("other", ["runs/r1/extract", "runs/r1/extract/samples", "runs/r1", "../link"])
def test_what_others_use_stays_whatever_it_is_called(host: AgentHost, made: Path, tmp_path: Path, other: str) -> None:
    (tmp_path / "link").symlink_to(made / "runs/r1/extract/samples")
    others = {str(made / other): "r2 extract"}
    paths = ["{root}/runs/r1/extract", "{root}/runs/r1/synth"]
    assert host.usage(paths, others)[0]["kept"] == "used by r2 extract"
    with pytest.raises(LaunchFailed, match="used by r2 extract") as raised:
        host.remove(paths, others)
    assert raised.value.kind == "in-use"
    assert (made / "runs/r1/extract/samples/data").exists() and (made / "runs/r1/synth/data").exists(), "all or nothing"


@pytest.mark.parametrize(
    "path", ["{root}", "{root}/runs", "{root}/code", "{home}", "/", "{root}/runs/../..", "{root}/moved"]
)
def test_what_is_not_ours_is_never_removed(host: AgentHost, made: Path, tmp_path: Path, path: str) -> None:
    (made / "code").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (made / "moved").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LaunchFailed, match="outside") as raised:
        host.remove([path], {})
    assert raised.value.kind == "in-use"
