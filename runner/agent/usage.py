"""What folders take up on the disk, and how they are removed: only ours, and only what nobody else uses."""

import contextlib
import os
import shutil
import time
from typing import Any, Dict, List, NamedTuple

from runner.agent.refusal import Refused
from runner.agent.root import Root

BUDGET_S = 20.0  # for all folders of one question; beyond it sizes are lower bounds
_BLOCK = 512


class Size(NamedTuple):
    """Bytes on the disk and files. `whole` False: there is more than was counted in time."""

    bytes: int
    files: int
    whole: bool


def measure(path: str, until_s: float = 0.0) -> Size:
    """Links are not followed."""
    until_s = until_s or time.monotonic() + BUDGET_S
    size = files = 0
    todo = [path]
    while todo:
        if time.monotonic() > until_s:
            return Size(size, files, False)
        with contextlib.suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                size += found.st_blocks * _BLOCK
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                else:
                    files += 1
    return Size(size, files, True)


def usage(root: Root, paths: List[str], others: Dict[str, str]) -> List[Dict[str, Any]]:
    """Every folder of `paths` that is there: path, bytes, files, whole, and `kept`, why it must stay, "" if it may go.

    `others` are folders that others use, each with words that say who does.
    """
    until_s = time.monotonic() + BUDGET_S
    found = []
    for path in paths:
        place = root.resolve(path)
        if os.path.lexists(place):
            size = measure(place, until_s)
            kept = why_kept(root, place, others)
            found.append({"path": place, "bytes": size.bytes, "files": size.files, "whole": size.whole, "kept": kept})
    return found


def why_kept(root: Root, place: str, others: Dict[str, str]) -> str:
    real = os.path.realpath(place)
    ours = [os.path.realpath(os.path.join(root.path, name)) for name in ("runs", "attempts")]
    if not any(inside(real, top) and real != top for top in ours):
        return "it lies outside of the bot's own folders"
    for other, who in others.items():
        there = os.path.realpath(root.resolve(other))
        if inside(real, there) or inside(there, real):
            return "used by %s" % who
    return ""


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def remove(root: Root, paths: List[str], others: Dict[str, str]) -> List[str]:
    """Remove what may go; returns the paths. They are gone at once, their space comes back bit by bit.

    Raises Refused when one of them must stay: then nothing is removed.
    """
    places = [place for place in (root.resolve(path) for path in paths) if os.path.lexists(place)]
    for place in places:
        kept = why_kept(root, place, others)
        if kept:
            raise Refused("in-use", "%s stays: %s" % (place, kept))
    trash = os.path.join(root.path, "trash")
    root.make(trash)
    removed = []
    for place in places:
        os.rename(place, os.path.join(trash, "%s-%s" % (os.path.basename(place), os.urandom(6).hex())))
        removed.append(place)
        above = os.path.dirname(place)
        if os.path.dirname(above) == os.path.join(root.path, "runs"):
            with contextlib.suppress(OSError):
                os.rmdir(above)  # the run's own folder, once it is empty
    empty(trash)
    return removed


def empty(trash: str) -> None:
    """Delete in the background; what an earlier one left behind too."""
    from runner.agent.supervisor import detach

    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            detach(set())
            os.nice(19)
            for name in os.listdir(trash):
                shutil.rmtree(os.path.join(trash, name), ignore_errors=True)
    finally:
        os._exit(0)
