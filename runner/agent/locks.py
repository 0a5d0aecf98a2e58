"""Locks of the host: one on each attempt, one on each GPU. The kernel lets go of them when their holders end."""

import errno
import fcntl
import json
import os
from typing import Dict, List, Optional, Tuple

from runner.agent.refusal import Refused
from runner.agent.root import Root


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


class GpuLocks:
    """The locks of some GPUs, taken all together or not at all."""

    def __init__(self, root: Root, indices: List[int]) -> None:
        self.handles: Dict[int, int] = {}
        if indices:
            root.make(os.path.join(root.path, "gpus"))
        for index in sorted(set(indices)):
            self.handles[index] = open_lock(root.gpu_lock(index))

    def take(self) -> Optional[int]:
        """None when all are ours now, else the index of one that is not."""
        taken: List[int] = []
        for index, handle in self.handles.items():
            if not try_lock(handle):
                for other in taken:
                    fcntl.flock(other, fcntl.LOCK_UN)
                return index
            taken.append(handle)
        return None

    def sign(self, attempt: str, since: str) -> None:
        """Write who holds the locks, for those who wait."""
        body = json.dumps({"attempt": attempt, "since": since}).encode("ascii")
        for handle in self.handles.values():
            try:
                os.ftruncate(handle, 0)
                os.pwrite(handle, body, 0)
            except OSError:
                pass  # a full disk must not keep anybody from working

    def holder(self, index: int) -> Tuple[str, str]:
        """The attempt that holds a lock ("" when it cannot be told), and who that is in words."""
        try:
            held = json.loads(os.pread(self.handles[index], 4096, 0).decode("ascii"))
            since = held["since"][:16].replace("T", " ")
            return held["attempt"], "%s (since %s UTC)" % (held["attempt"], since)
        except (OSError, ValueError, KeyError, TypeError):
            return "", "another attempt"
