"""Which process is meant: boot id, pid and start ticks together name one process for good."""

import os
import time
from typing import Any, Dict, List, NamedTuple, Optional

BOOT_ID_VARIABLE = "POINTSMAN_BOOT_ID_FILE"  # lets tests reboot
TOKEN_VARIABLE = "POINTSMAN_TOKEN"


def boot_id() -> str:
    with open(os.environ.get(BOOT_ID_VARIABLE) or "/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


class Stat(NamedTuple):
    """What /proc/PID/stat tells. CPU ticks include children that were waited for."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    cpu_ticks: int
    start_ticks: int

    @property
    def alive(self) -> bool:
        return self.state not in "ZX"


def stat(pid: int) -> Optional[Stat]:
    """None when there is no such process."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            # the name in parentheses may itself hold anything, parentheses and line feeds too
            rest = file.read().rpartition(b")")[2].split()
        return Stat(
            pid=pid,
            state=rest[0].decode("ascii"),
            parent=int(rest[1]),
            group=int(rest[2]),
            session=int(rest[3]),
            cpu_ticks=sum(int(ticks) for ticks in rest[11:15]),
            start_ticks=int(rest[19]),
        )
    except (OSError, IndexError, ValueError):
        return None


def start_ticks(pid: int) -> int:
    """Raises ProcessLookupError."""
    found = stat(pid)
    if found is None:
        raise ProcessLookupError(pid)
    return found.start_ticks


def alive(record: Optional[Dict[str, Any]], boot: str) -> bool:
    """Whether the very process of a record {boot_id, pid, start_ticks} still runs; a zombie does not."""
    if not record or record.get("boot_id") != boot:
        return False
    found = stat(record["pid"])
    return found is not None and found.alive and found.start_ticks == record["start_ticks"]


def every_process() -> List[Stat]:
    found = (stat(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [each for each in found if each is not None]


class ProcessTable:
    """All processes, looked at again when the last look is older than `KEPT_S`: a look costs milliseconds."""

    KEPT_S = 10.0

    def __init__(self) -> None:
        self._seen: List[Stat] = []
        self._seen_s = -1e9

    def look(self) -> List[Stat]:
        if time.monotonic() - self._seen_s > self.KEPT_S:
            self._seen, self._seen_s = every_process(), time.monotonic()
        return self._seen


def carries(pid: int, token: str) -> bool:
    """Whether a process was started with this token in its environment. False where that cannot be read."""
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return ("%s=%s" % (TOKEN_VARIABLE, token)).encode() in file.read().split(b"\0")
    except OSError:
        return False


def descendants(of: int, table: List[Stat]) -> List[int]:
    """Pids of the processes below `of`."""
    children: Dict[int, List[int]] = {}
    for each in table:
        children.setdefault(each.parent, []).append(each.pid)
    found: List[int] = []
    todo = [of]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def members(token: str, session: Optional[int], supervisor: Optional[int]) -> List[int]:
    """Live pids of an attempt's tree: by token, by session, and below its supervisor.

    The token finds those who left session and group; the supervisor adopts those whose parent died, so it
    also finds the ones whose environment cannot be read. Pass `session` and `supervisor` only while the
    process of that pid is known to be ours: a stranger may have got the number since.
    """
    table = every_process()
    below = set(descendants(supervisor, table)) if supervisor else set()
    me = os.getpid()
    return [
        each.pid
        for each in table
        if each.alive
        and each.pid not in (me, supervisor)
        and (each.pid in below or each.session == session or carries(each.pid, token))
    ]
