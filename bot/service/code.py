"""The code that goes to a host: runner/ and patches/ as one archive, named by its digest."""

import gzip
import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOMS = ("runner", "patches")
_LEFT_OUT = ("__pycache__", ".pyc")


@dataclass(frozen=True)
class CodeArchive:
    """A tar.gz and the sha256 of what is in it."""

    body: bytes
    digest: str


def pack(root: Path) -> CodeArchive:
    """Pack the rooms that a host needs. The same files give the same digest, whenever and wherever."""
    hasher, buffer = hashlib.sha256(), io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for room in ROOMS:
            for path in sorted((root / room).rglob("*")):
                name = path.relative_to(root).as_posix()
                if not path.is_file() or any(part in name for part in _LEFT_OUT):
                    continue
                body = path.read_bytes()
                executable = bool(path.stat().st_mode & 0o100)
                hasher.update(f"{name}\0{len(body)}\0{executable}\0".encode() + body)
                info = tarfile.TarInfo(name)
                info.size, info.mode = len(body), 0o755 if executable else 0o644
                tar.addfile(info, io.BytesIO(body))
    return CodeArchive(gzip.compress(buffer.getvalue(), 6, mtime=0), hasher.hexdigest())
