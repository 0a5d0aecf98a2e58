"""A test's process that does not end in time tells where it hangs, and is gone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosting.processes import STACKS, end, owned

DEAF = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: None)
print(flush=True)
def hang():
    while True:
        time.sleep(1)
hang()
"""


def started(code: str, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as told:
        argv, env = [sys.executable, "-c", code], os.environ | STACKS
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=told, env=env)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_what_is_deaf_is_killed_and_its_stacks_are_told(tmp_path: Path) -> None:
    process = started(DEAF, tmp_path / "log")
    with pytest.raises(AssertionError, match=r"did not end within 0.2 s after SIGTERM(.|\n)*in hang"):
        end(process, tmp_path / "log", within_s=0.2)
    assert process.returncode == -signal.SIGABRT


def test_what_ends_in_failure_is_told(tmp_path: Path) -> None:
    code = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit('broken'))\nprint(flush=True)\n"
    process = started(code + "signal.pause()", tmp_path / "log")
    with owned(process), pytest.raises(AssertionError, match=r"ended with 1 after SIGTERM(.|\n)*broken"):
        end(process, tmp_path / "log")


def test_what_had_failed_before_is_told(tmp_path: Path) -> None:
    with owned(process := started("raise SystemExit('broken')", tmp_path / "log")):
        process.wait(60)
        with pytest.raises(AssertionError, match=r"ended with 1(.|\n)*broken"):
            end(process, tmp_path / "log")


def test_what_a_test_killed_before_is_no_failure(tmp_path: Path) -> None:
    with owned(process := started(DEAF, tmp_path / "log")):
        process.kill()
        process.wait(60)
        end(process, tmp_path / "log")
