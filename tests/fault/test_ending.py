"""A bot whose main thread never comes back ends all the same, and says where it hung."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bot.cli.ending import Ending
from tests.hosting.processes import owned

CHECKOUT = Path(__file__).resolve().parents[2]
HUNG = """
import logging, os, sys, threading
from bot.cli import ending
logging.basicConfig(level=logging.INFO)
ending.END_S = float(sys.argv[1])
ending.Ending().listen()
def hang():
    lock = threading.Lock()
    lock.acquire()
    os.write(2, b"x" * int(sys.argv[2]))
    print(flush=True)
    lock.acquire()
hang()
"""
PIPE_BYTES = 65536


HEARS = """
import os, signal
from bot.cli.ending import Ending
ending = Ending()
ending.listen()
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"used\\n"))  # print would not bear the next signal
print(flush=True)
ending.asked.wait()
os._exit(0)
"""


def started(code: str, *words: object, shell: str = 'exec "$@"') -> subprocess.Popen[bytes]:
    argv = ["sh", "-c", shell, "sh", sys.executable, "-c", code, *map(str, words)]
    process = subprocess.Popen(argv, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def hung(end_s: float, told_bytes: int = 0) -> subprocess.Popen[bytes]:
    return started(HUNG, end_s, told_bytes)


def test_it_ends_in_failure_and_tells_the_stacks() -> None:
    with owned(process := hung(0.5)):
        process.send_signal(signal.SIGTERM)
        told = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1
    assert "Timeout" in told and "in hang" in told


def test_it_ends_although_nobody_reads_what_it_tells() -> None:
    with owned(process := hung(0.5, PIPE_BYTES)):
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 1


@pytest.mark.parametrize("told_bytes", [0, PIPE_BYTES])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(number: int, told_bytes: int) -> None:
    """Also while nobody reads the log."""
    with owned(process := hung(600.0, told_bytes)):
        process.send_signal(signal.SIGTERM)
        while Path(f"/proc/{process.pid}").exists() and process.poll() is None:
            process.send_signal(number)
        assert process.returncode == 128 + number


def test_it_hears_where_there_is_no_standard_error() -> None:
    with owned(process := started(HEARS, shell='exec "$@" 2>&-')):
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_other_signals_do_not_end_it() -> None:
    with owned(process := started(HEARS)):
        assert process.stdout is not None
        for _ in range(2):
            process.send_signal(signal.SIGUSR1)
            assert process.stdout.readline() == b"used\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_what_fails_or_hangs_keeps_nothing_else_from_being_stopped(caplog: pytest.LogCaptureFixture) -> None:
    ending, goes, stopped = Ending(), threading.Event(), []
    ending.let_go({"one": lambda: 1 / 0, "two": goes.wait, "three": lambda: stopped.append(3)}, 0.2)
    ending.let_go({"four": lambda: stopped.append(4)})
    goes.set()
    assert stopped == [3, 4]
    assert "one could not be stopped" in caplog.text and "left behind: two did not stop" in caplog.text
