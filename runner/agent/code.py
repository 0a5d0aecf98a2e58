"""Code on the host: one folder a digest, whole or absent."""

import io
import os
import shutil
import tarfile

from runner.agent.refusal import Refused
from runner.agent.root import PARTIAL, Root
from runner.protocol.files import sync_folder


def ship(root: Root, digest: str, archive: bytes) -> None:
    """Unpack a tar.gz into `code/DIGEST`. Raises Refused: bad-archive, no-space."""
    target = root.code(digest)
    if os.path.isdir(target):
        return
    root.make(root.codes)
    partial = os.path.join(root.codes, "%s%d-%s" % (PARTIAL, os.getpid(), os.urandom(4).hex()))
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
