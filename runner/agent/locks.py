"""Locks: on each attempt, each GPU, and the host. The kernel lets go of them when their holders end."""

import errno
import fcntl
import json
import os
from typing import Dict, List, Optional, Tuple

from runner.agent.refusal import Refused
from runner.agent.root import Root
from runner.protocol.attempt import AttemptDir

HOST = -1  # among the indices of GPUs, the host itself


def open_lock(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(handle: int, shared: bool = False) -> bool:
    """Take the lock without waiting. Raises Refused where the file system has no locks."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return True
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise Refused("no-locks", "the root folder's file system cannot lock files: %s" % error) from error


def is_locked(path: str) -> bool:
    """Whether somebody holds the lock at `path`."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(handle, shared=True)
    finally:
        os.close(handle)


class Locks:
    """The locks of some GPUs and of the host, taken all together or not at all.

    `alone`: True wants the host for itself, False shares it, None does not ask.
    """

    def __init__(self, root: Root, gpus: List[int], alone: Optional[bool] = None) -> None:
        self.root = root
        self.alone = bool(alone)
        self.handles: Dict[int, int] = {}
        if gpus:
            root.make(os.path.join(root.path, "gpus"))
        for index in sorted(set(gpus)):
            self.handles[index] = open_lock(root.gpu_lock(index))
        if alone is not None:
            self.handles[HOST] = open_lock(root.host_lock)

    def take(self) -> Optional[int]:
        """None when all are ours now, else the index of a GPU that is not, or HOST."""
        taken: List[int] = []
        for index, handle in self.handles.items():
            if not try_lock(handle, shared=index == HOST and not self.alone):
                for other in taken:
                    fcntl.flock(other, fcntl.LOCK_UN)
                return index
            taken.append(handle)
        return None

    def sign(self, attempt: str, since: str) -> None:
        """Write who holds the locks, for those who wait. Of the host only who holds it alone."""
        body = json.dumps({"attempt": attempt, "since": since}).encode("ascii")
        for index, handle in self.handles.items():
            try:
                os.ftruncate(handle, 0)
                if index != HOST or self.alone:
                    os.pwrite(handle, body, 0)
            except OSError:
                pass  # a full disk must not keep anybody from working

    def holder(self, index: int) -> Tuple[str, str]:
        """The attempt that holds a lock ("" when it cannot be told), and in words what is waited for."""
        what = "the host" if index == HOST else "GPU %d" % index
        try:
            held = json.loads(os.pread(self.handles[index], 4096, 0).decode("ascii"))
            since = held["since"][:16].replace("T", " ")
            return held["attempt"], "%s is held by %s (since %s UTC)" % (what, held["attempt"], since)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        if index != HOST:
            return "", "%s is held by another attempt" % what
        others = [os.path.basename(each.path) for each in self.root.every_attempt() if is_at_work(each)]
        return others[0] if others else "", "the host is used by %s" % (", ".join(sorted(others)) or "other attempts")


def is_at_work(attempt: AttemptDir) -> bool:
    return os.path.exists(attempt.started) and not os.path.exists(attempt.exit) and is_locked(attempt.lock)
