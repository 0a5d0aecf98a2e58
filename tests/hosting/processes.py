"""Processes that a test starts: ended in time or with the reason told, and never left to the next test."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

END_S = 40.0  # twice what the bot allows itself
STACKS_S = 5.0  # to tell the stacks
STACKS = {"PYTHONFAULTHANDLER": "1"}  # in its environment: a process that is aborted tells where it hung


def end(process: subprocess.Popen[Any], log: Path, number: int = signal.SIGTERM, within_s: float = END_S) -> None:
    """Fails with the end of `log`, its stacks among it, when it does not end in time, or in failure.

    Also when it had ended in failure before; that a test killed it is none.
    """
    process.send_signal(number)
    try:
        process.wait(within_s)
        sound = process.returncode in (0, -number, -signal.SIGKILL)
        failure = "" if sound else f"ended with {process.returncode}"
    except subprocess.TimeoutExpired:
        failure = f"did not end within {within_s:g} s"
        process.send_signal(signal.SIGABRT)
        with owned(process), suppress(subprocess.TimeoutExpired):
            process.wait(STACKS_S)
    if failure:
        told = log.read_text(errors="replace")[-12000:]
        raise AssertionError(f"pid {process.pid} {failure} after {signal.Signals(number).name}; its log:\n{told}")


@contextmanager
def owned(*processes: subprocess.Popen[Any]) -> Iterator[None]:
    """However the block ends: killed, reaped, and their pipes closed."""
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            with process:
                pass
