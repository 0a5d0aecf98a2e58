"""Who holds the database's lease: a name of this process, by which a bot beside it can tell whether it lives."""

import os
import re
import socket
from pathlib import Path

_NAME = re.compile(r"^\S+ pid (\d+) \[(\S+)/(\d+)\]$")


def this_process() -> str:
    """Machine, pid and, in brackets, what makes both certain."""
    pid = os.getpid()
    return f"{socket.gethostname()} pid {pid} [{_here()}/{_start_ticks(pid)}]"


def is_gone(holder: str) -> bool:
    """True only if `holder` was a process of this very machine, boot and pid namespace, and is no more."""
    match = _NAME.match(holder)
    return match is not None and match[2] == _here() and _start_ticks(int(match[1])) != int(match[3])


def _here() -> str:
    """This boot and this pid namespace: pids mean the same to all who share it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
        return f"{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux: nobody is ever taken for gone
        return f"unknown-{os.getpid()}"


def _start_ticks(pid: int) -> int:
    """When the process started, 0 when there is none; a zombie is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[19])
