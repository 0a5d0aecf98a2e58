"""What all tests share: a free port, where the time goes, and that nothing they start outlives them."""

import gc
import os
import shutil
import signal
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.hosting import postgres as postgresql

# Inherited by everything that a test starts, however often it forks; sshd alone drops it.
MARK = "POINTSMAN_TEST_SESSION"
GRACE_S = 5.0
SSHD_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])

_seconds: dict[str, float] = defaultdict(float)
_basetemp: list[Path] = []


@pytest.fixture
def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgresql.Postgres]:
    """A real server, the same for the whole session; every test takes a database of its own."""
    if why := postgresql.why_not():
        pytest.skip(why)
    server = postgresql.Postgres()
    yield server
    server.close()


@pytest.fixture(autouse=True, scope="session")
def _remember_basetemp(tmp_path_factory: pytest.TempPathFactory) -> None:
    _basetemp.append(tmp_path_factory.getbasetemp())


def pytest_configure(config: pytest.Config) -> None:
    os.environ[MARK] = f"{os.getpid()}-{time.time_ns()}"
    # The same examples every time and no deadline: only a change of the code makes a test fail, not a busy machine.
    hypothesis.settings.register_profile("house", max_examples=25, deadline=None, derandomize=True)
    hypothesis.settings.load_profile("house")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("sglang"):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("sshd") and not shutil.which("sshd", path=SSHD_PATH):
            item.add_marker(pytest.mark.skip(reason="no sshd here: apt install openssh-server"))
    items.sort(key=lambda item: _folder(item) not in ("unit", "house"))


def _folder(item: pytest.Item) -> str:
    return "".join(item.path.relative_to(item.config.rootpath).parts[1:2])


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is loaded by now stays to the end: the collector of garbage need not go through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    began_s = time.monotonic()
    yield
    folder = _folder(item)
    _seconds[f"slow {folder}" if item.get_closest_marker("slow") else folder] += time.monotonic() - began_s


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    parts = sorted(_seconds.items(), key=lambda part: -part[1])
    if parts:
        terminalreporter.write_line("seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in parts))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the session when a process or a thread that a test started is still there."""
    left = _left_over()
    until_s = time.monotonic() + GRACE_S
    while left and time.monotonic() < until_s:
        time.sleep(0.1)
        left = _left_over()
    for pid, command in left.items():
        _tell(session, f"process {pid} outlived the tests: {command}")
        os.kill(pid, signal.SIGKILL)
    threads = [each for each in threading.enumerate() if each is not threading.main_thread() and not each.daemon]
    for thread in threads:
        _tell(session, f"thread outlived the tests: {thread.name}")
    if (left or threads) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _tell(session: pytest.Session, text: str) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.ensure_newline()
        reporter.write_line(text, red=True)


def _left_over() -> dict[int, str]:
    """Pid -> command of every process that carries the mark, or whose command names the tests' temporary folder."""
    mark = f"{MARK}={os.environ[MARK]}".encode()
    folder = os.fsencode(_basetemp[0]) if _basetemp else None
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
            command = (entry / "cmdline").read_bytes()
            marked = mark in (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # gone, or somebody else's
            continue
        if state != b"Z" and (marked or (folder is not None and folder in command)):
            found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace").strip()[:200]
    return found
