"""Drafters published in a serving folder, each under its digest, and the link that says which one is served.

SERVING/drafters/<first 16 of its digest>/   complete and never changed
SERVING/current -> drafters/…
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from runner.bench.draft import file_digest
from runner.protocol.errors import DataError
from runner.protocol.files import sync_folder

CURRENT = "current"
DRAFTERS = "drafters"
WEIGHTS = "model.safetensors"
_NAME_LENGTH = 16


def release_name(draft: Path) -> str:
    """Raises DataError when the folder holds no drafter."""
    if not (draft / WEIGHTS).is_file() or not (draft / "config.json").is_file():
        raise DataError(f"{draft}: no config.json and {WEIGHTS}", "give the folder that the export wrote")
    both = file_digest(draft / WEIGHTS) + file_digest(draft / "config.json")  # a config alone may be what changed
    return hashlib.sha256(both.encode()).hexdigest()[:_NAME_LENGTH]


def publish(draft: Path, serving: Path) -> str:
    """Copy the drafter below `serving`; its name there. A release that is there already is only checked.

    Raises DataError when what lies under that name differs.
    """
    name = release_name(draft)
    folder = serving / DRAFTERS / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        _copy(draft, folder)
    for path in _files(draft):
        there = folder / path.relative_to(draft)
        if not there.is_file() or file_digest(there) != file_digest(path):
            raise DataError(f"{there} is not the {path.name} of {draft}", f"move {folder} away, then deploy again")
    return name


def _copy(draft: Path, folder: Path) -> None:
    """Under a name of its own, to the disk, and then in place at once."""
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, part, ignore_errors=True)
        for path in _files(draft):
            copied = part / path.relative_to(draft)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)
            with copied.open("rb") as file:
                os.fsync(file.fileno())
        try:
            part.rename(folder)
        except OSError:
            if not folder.exists():  # else another deployment was quicker: what it left is checked
                raise
        sync_folder(str(folder.parent))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def served(serving: Path) -> str | None:
    """The name of the release that `current` points at. Raises DataError when it is no link to a release."""
    link = serving / CURRENT
    if not link.is_symlink():
        if link.exists():
            raise DataError(f"{link} is no link", "move it away: the link is made here")
        return None
    target = link.resolve()
    if target.parent != (serving / DRAFTERS).resolve():
        raise DataError(f"{link} points at {target}, which was not published here", "remove the link, or fix it")
    return target.name


def is_there(serving: Path, name: str) -> bool:
    """Whether a release of that name was published."""
    return (serving / DRAFTERS / name / WEIGHTS).is_file()


@contextlib.contextmanager
def alone(serving: Path) -> Iterator[None]:
    """One deployment into a serving folder at a time. Raises DataError when another is at work."""
    serving.mkdir(parents=True, exist_ok=True)
    with (serving / ".deploy.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DataError(f"another deployment into {serving} is at work", "wait for its end") from error
        yield


def switch(serving: Path, name: str) -> None:
    """Let `current` point at a release, in one step."""
    link = serving / f".{CURRENT}.{os.getpid()}.part"
    link.unlink(missing_ok=True)
    link.symlink_to(f"{DRAFTERS}/{name}")
    link.replace(serving / CURRENT)
    sync_folder(str(serving))
