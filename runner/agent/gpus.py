"""GPUs by nvidia-smi, asked in the background: a driver that hangs must not hold up a poll."""

import os
import pwd
import time
from typing import Any, Dict, List, Optional

from runner.protocol.view import Gpu

EVERY_S = 5.0
FIRST_S = 2.0
MIB = 1 << 20

_CARDS = "index,uuid,name,memory.used,memory.total,utilization.gpu"
_PROCESSES = "gpu_uuid,pid,used_memory"
_ASK = (
    "nvidia-smi --query-gpu=%s --format=csv,noheader,nounits && echo && "
    "nvidia-smi --query-compute-apps=%s --format=csv,noheader,nounits" % (_CARDS, _PROCESSES)
)


class GpuWatch:
    """The newest answer of nvidia-smi; empty where there is none."""

    def __init__(self) -> None:
        self.there = any(os.path.exists(os.path.join(place, "nvidia-smi")) for place in os.get_exec_path())
        self.gpus: List[Gpu] = []
        self.asked_s = -1e9
        self.asking: Optional[Any] = None  # subprocess.Popen
        self.seen = False

    def look(self) -> List[Gpu]:
        """Ask anew if the last answer is old; waits for an answer only the first time, and not for long."""
        if not self.there:
            return []
        self.collect()
        if self.asking is None and time.monotonic() - self.asked_s >= EVERY_S:
            self.ask()
        give_up_s = time.monotonic() + FIRST_S
        while not self.seen and self.asking is not None and time.monotonic() < give_up_s:
            time.sleep(0.01)
            self.collect()
        self.seen = True
        return self.gpus

    def now(self, timeout_s: float) -> List[Gpu]:
        """An answer that is not older than this call, or the last one after `timeout_s`."""
        self.asked_s = -1e9
        self.seen = False
        give_up_s = time.monotonic() + timeout_s
        found = self.look()
        while self.asking is not None and time.monotonic() < give_up_s:
            time.sleep(0.02)
            self.collect()
            found = self.gpus
        return found

    def ask(self) -> None:
        import subprocess  # only where there are GPUs

        self.asked_s = time.monotonic()
        self.asking = subprocess.Popen(
            ["/bin/sh", "-c", _ASK], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def collect(self) -> None:
        """Take the answer if it is there. One that never ends is left alone, and no other is asked."""
        if self.asking is None or self.asking.poll() is None:
            return
        text = self.asking.stdout.read().decode("utf-8", "replace")
        self.asking.stdout.close()
        if self.asking.returncode == 0:
            self.gpus = parse(text)
        self.asking = None


def parse(text: str) -> List[Gpu]:
    """The two tables of `_ASK`, an empty line between them."""
    cards, _, processes = text.partition("\n\n")
    by_card: Dict[str, List[Dict[str, Any]]] = {}
    for line in processes.splitlines():
        uuid, pid, used = [part.strip() for part in line.split(",")]
        used_bytes = int(used) * MIB if used.isdigit() else None
        by_card.setdefault(uuid, []).append({"pid": int(pid), "user": user_of(int(pid)), "used_bytes": used_bytes})
    found = []
    for line in cards.splitlines():
        index, uuid, name, used, total, busy = [part.strip() for part in line.split(",")]
        found.append(
            Gpu(
                index=int(index),
                name=name,
                used_bytes=int(used) * MIB if used.isdigit() else 0,
                total_bytes=int(total) * MIB if total.isdigit() else 0,
                utilisation=float(busy) if busy.isdigit() else None,
                processes=by_card.get(uuid, []),
            )
        )
    return found


def user_of(pid: int) -> str:
    """The name of a process's owner, "?" when it cannot be seen from here (another container)."""
    try:
        uid = os.stat("/proc/%d" % pid).st_uid
        return pwd.getpwuid(uid).pw_name
    except (OSError, KeyError):
        return "?"


def strangers(gpus: List[Gpu], indices: List[int]) -> List[str]:
    """In words: processes on these GPUs that belong to no attempt."""
    found = []
    for gpu in gpus:
        if gpu.index not in indices:
            continue
        for process in gpu.processes:
            if is_an_attempts(process["pid"]):
                continue
            used = process["used_bytes"]
            size = "%.1f GB" % (used / 1e9) if used is not None else "an unknown amount of memory"
            found.append("GPU %d: pid %d of %s holds %s" % (gpu.index, process["pid"], process["user"], size))
    return found


def is_an_attempts(pid: int) -> bool:
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return any(entry.startswith(b"POINTSMAN_TOKEN=") for entry in file.read().split(b"\0"))
    except OSError:
        return False
