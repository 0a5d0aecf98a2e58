"""Where things lie below the agent's root folder."""

import contextlib
import fcntl
import os
import re
from typing import Dict, Iterator, List, Optional

from runner.agent.refusal import Refused
from runner.protocol.attempt import NAME, AttemptDir

PARTIAL = ".partial-"  # how names of folders begin that are being made or removed
_PLACEHOLDER = re.compile(r"\{(code|attempt|root|out|home)\}")


class Root:
    """`attempts/<id>/`, `code/<digest>/`, `env/<digest>/`, `gpus/<index>.lock`, `queue/<number>-<id>`."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(os.path.expanduser(path))

    def make(self, folder: str) -> None:
        """Make a folder below the root, which nobody else may read."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)

    @property
    def attempts(self) -> str:
        return os.path.join(self.path, "attempts")

    @property
    def codes(self) -> str:
        return os.path.join(self.path, "code")

    @property
    def environments(self) -> str:
        return os.path.join(self.path, "env")

    def attempt(self, name: str) -> AttemptDir:
        return AttemptDir(os.path.join(self.attempts, checked(name)))

    def every_attempt(self) -> Iterator[AttemptDir]:
        try:
            names = os.listdir(self.attempts)
        except FileNotFoundError:
            return
        for name in names:
            if NAME.match(name):
                yield AttemptDir(os.path.join(self.attempts, name))

    def code(self, digest: str) -> str:
        return os.path.join(self.codes, checked(digest))

    @contextlib.contextmanager
    def using_code(self, collecting: bool = False) -> Iterator[None]:
        """Code is not collected while an attempt that needs it is between its check and its spec."""
        handle = os.open(os.path.join(self.path, "code.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if collecting else fcntl.LOCK_SH)
            yield
        finally:
            os.close(handle)

    @property
    def queue(self) -> str:
        return os.path.join(self.path, "queue")

    def gpu_lock(self, index: int) -> str:
        return os.path.join(self.path, "gpus", "%d.lock" % index)

    @property
    def host_lock(self) -> str:
        return os.path.join(self.path, "host.lock")

    def resolve(self, path: str, places: Optional[Dict[str, str]] = None) -> str:
        """An absolute path of `path`, which may hold placeholders or start with `~`; relative ones lie in the root."""
        known = dict({"root": self.path, "home": os.path.expanduser("~")}, **(places or {}))
        return os.path.normpath(os.path.join(self.path, os.path.expanduser(fill(path, known))))


def checked(name: str) -> str:
    """A name that is safe as one part of a path. Raises Refused."""
    if not isinstance(name, str) or not NAME.match(name):
        raise Refused("bad-name", "%r is no name of an attempt or digest" % (name,))
    return name


def fill(text: str, places: Dict[str, str]) -> str:
    """Replace {code}, {attempt}, {root}, {out}, {home}. Raises Refused for one that has no value here."""

    def value(match: "re.Match[str]") -> str:
        if match.group(1) not in places:
            raise Refused("no-%s" % match.group(1), "%s is used, but there is none" % match.group(0))
        return places[match.group(1)]

    return _PLACEHOLDER.sub(value, text)


def fill_all(texts: List[str], places: Dict[str, str]) -> List[str]:
    return [fill(text, places) for text in texts]
