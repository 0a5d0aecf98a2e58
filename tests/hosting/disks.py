"""A small disk that can be filled."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "8m") -> Iterator[Path]:
    """A tmpfs of its own, only for root."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.decode()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class FrozenDisk:
    """A disk that can be frozen: whoever writes to it then sleeps so deeply that no signal wakes him."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.frozen = False

    def freeze(self) -> None:
        subprocess.run(["fsfreeze", "-f", str(self.folder)], check=True)
        self.frozen = True

    def thaw(self) -> None:
        if self.frozen:
            subprocess.run(["fsfreeze", "-u", str(self.folder)], check=True)
            self.frozen = False


@contextlib.contextmanager
def disk_to_freeze(folder: Path) -> Iterator[FrozenDisk]:
    """A small ext4 of its own, only for root and where loop devices are."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    image = folder.with_suffix(".img")
    with image.open("wb") as file:
        file.truncate(16 << 20)
    folder.mkdir()
    for argv in (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(folder)]):
        done = subprocess.run(argv, capture_output=True)
        if done.returncode != 0:
            pytest.skip(f"no disk of its own can be mounted here: {done.stderr.decode()}")
    disk = FrozenDisk(folder)
    try:
        yield disk
    finally:
        disk.thaw()
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Until not one more byte fits."""
    with (folder / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)


def empty(folder: Path) -> None:
    (folder / "filler").unlink()
