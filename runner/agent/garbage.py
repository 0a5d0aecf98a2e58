"""What nothing uses any more: code, environments, looks at the host, and what broken-off shipments left."""

import json
import os
import shutil
import time
from typing import Any, Dict, Iterator, List, Tuple

from runner.agent.locks import open_lock, try_lock
from runner.agent.root import PARTIAL, Root
from runner.agent.standing import optional
from runner.agent.state import look
from runner.protocol.attempt import AttemptDir
from runner.protocol.errors import ProtocolError
from runner.protocol.view import ABSENT

STALE_S = 3600.0  # younger than this, something may belong to somebody who is still at work
UNUSED_S = 14 * 86400.0  # an environment is a long download: it is kept for so long after its last use
RUN = "host"  # attempts that prepare or look at a host


def collect(root: Root, keep: List[str]) -> List[str]:
    """Remove what neither a live attempt nor anybody in `keep` (digests) uses.

    Returns the digests of code that were removed, then `env/DIGEST` and `attempts/ID`.
    """
    if not os.path.isdir(root.path):
        return []
    with root.using_code(collecting=True):
        live = [spec for attempt, spec, over in every_spec(root) if not over]
        used = set(keep) | {str(spec["code_digest"]) for spec in live if spec.get("code_digest")}
        said = json.dumps([spec.get("argv") for spec in live])
        removed = [name for name in stale_code(root) if name not in used and remove(root.codes, name)]
        for name in old_environments(root):
            if name not in used and "/env/%s/" % name not in said and remove_environment(root, name):
                removed.append("env/%s" % name)
        for name in listed(root.attempts):
            if name.startswith(PARTIAL):
                shutil.rmtree(os.path.join(root.attempts, name), ignore_errors=True)
        for attempt, spec, over in every_spec(root):
            if over and spec.get("run") == RUN and age_s(attempt.exit) > STALE_S:
                name = os.path.basename(attempt.path)
                if remove(root.attempts, name):
                    removed.append("attempts/%s" % name)
    return removed


def every_spec(root: Root) -> Iterator[Tuple[AttemptDir, Dict[str, Any], bool]]:
    """Each attempt with its spec, and whether it is over; a damaged one counts as live, to be safe."""
    for attempt in root.every_attempt():
        try:
            spec = optional(attempt.spec)
        except ProtocolError:
            continue
        if not spec:
            continue
        try:
            state = look(attempt, spec["token"])
            given_up = state.name == ABSENT and age_s(attempt.spec) > STALE_S  # broken off before anything started
            over = state.over or given_up
        except ProtocolError:
            over = False
        yield attempt, spec, over


def stale_code(root: Root) -> Iterator[str]:
    """Every digest; what broken-off shipments left is removed on the way."""
    for name in listed(root.codes):
        if not name.startswith(PARTIAL):
            yield name
        elif age_s(os.path.join(root.codes, name)) > STALE_S:
            shutil.rmtree(os.path.join(root.codes, name), ignore_errors=True)


def old_environments(root: Root) -> Iterator[str]:
    for name in listed(root.environments):
        path = os.path.join(root.environments, name)
        if name.startswith(PARTIAL):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.isdir(path) and age_s(os.path.join(path, "made.json")) > UNUSED_S:
            yield name


def remove_environment(root: Root, name: str) -> bool:
    """False while somebody makes it."""
    handle = open_lock(os.path.join(root.environments, name + ".lock"))
    try:
        return try_lock(handle) and remove(root.environments, name)
    finally:
        os.close(handle)


def remove(folder: str, name: str) -> bool:
    """Gone under its name at once; the rest may be broken off. False when somebody else was faster."""
    going = os.path.join(folder, "%sgc-%s" % (PARTIAL, name))
    try:
        os.rename(os.path.join(folder, name), going)
    except OSError:
        return False
    shutil.rmtree(going, ignore_errors=True)
    return True


def listed(folder: str) -> List[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def age_s(path: str) -> float:
    """Since it was last changed; without end for what is not there."""
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return float("inf")
