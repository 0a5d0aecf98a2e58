"""Code on the host: one folder a digest, whole or absent, collected when nothing uses it."""

import io
import os
import shutil
import tarfile
import time
from typing import List, Set

from runner.agent.refusal import Refused
from runner.agent.root import Root
from runner.agent.state import look, optional
from runner.protocol.errors import ProtocolError
from runner.protocol.files import sync_folder

STALE_S = 3600.0
_PARTIAL = ".partial-"


def ship(root: Root, digest: str, archive: bytes) -> None:
    """Unpack a tar.gz into `code/DIGEST`. Raises Refused: bad-archive, no-space."""
    target = root.code(digest)
    if os.path.isdir(target):
        return
    root.make(root.codes)
    partial = os.path.join(root.codes, "%s%d-%s" % (_PARTIAL, os.getpid(), os.urandom(4).hex()))
    os.mkdir(partial, 0o700)
    try:
        unpack(archive, partial)
        try:
            os.rename(partial, target)
        except OSError:
            if not os.path.isdir(target):  # else somebody else was faster, with the same content
                raise
        sync_folder(root.codes)
    except (tarfile.TarError, EOFError) as error:
        raise Refused("bad-archive", "the archive cannot be unpacked: %s" % error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def unpack(archive: bytes, folder: str) -> None:
    """Plain files and folders alone, none outside of `folder`, all on the disk when it returns."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        for member in tar:
            path = os.path.normpath(os.path.join(folder, member.name))
            if path != folder and not path.startswith(folder + os.sep):
                raise Refused("bad-archive", "the archive has a member outside of it: %r" % member.name)
            if member.isdir():
                os.makedirs(path, exist_ok=True)
                continue
            source = tar.extractfile(member) if member.isfile() else None
            if source is None:
                raise Refused("bad-archive", "the archive has a member that is no plain file: %r" % member.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                shutil.copyfileobj(source, file)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(path, 0o755 if member.mode & 0o100 else 0o644)


def collect(root: Root, keep: List[str]) -> List[str]:
    """Remove code that no live attempt and nobody in `keep` uses, and what broken-off shipments left."""
    if not os.path.isdir(root.codes):
        return []
    removed = []
    with root.using_code(collecting=True):
        used = set(keep) | in_use(root)
        for name in sorted(os.listdir(root.codes)):
            path = os.path.join(root.codes, name)
            if name.startswith(_PARTIAL):
                if time.time() - os.path.getmtime(path) > STALE_S:
                    shutil.rmtree(path, ignore_errors=True)
            elif name not in used:
                going = os.path.join(root.codes, "%sgc-%s" % (_PARTIAL, name))
                os.rename(path, going)
                shutil.rmtree(going, ignore_errors=True)
                removed.append(name)
    return removed


def in_use(root: Root) -> Set[str]:
    """Digests of attempts that are not over; of a damaged one too, to be safe."""
    used = set()
    for attempt in root.every_attempt():
        try:
            spec = optional(attempt.spec)
        except ProtocolError:
            continue
        if not spec or not spec.get("code_digest"):
            continue
        try:
            over = look(attempt, spec["token"]).over
        except ProtocolError:
            over = False
        if not over:
            used.add(spec["code_digest"])
    return used
