"""A spec resolved on its host: placeholders filled, folders made, everything that can be refused refused."""

import os
import re
import time
from typing import Dict, List, NamedTuple, Optional

from runner.agent.refusal import Refused
from runner.agent.root import Root, fill, fill_all
from runner.protocol.attempt import AttemptDir
from runner.protocol.spec import AttemptSpec

CONTROL_BYTES = 1 << 20  # free space without which not even the records of an attempt fit
COUNT_S = 5.0
_ENV_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_DROPPED = re.compile(r"^(POINTSMAN_|SSH_|XDG_SESSION_)")


class Plan(NamedTuple):
    """What the supervisor needs to know."""

    spec: AttemptSpec
    argv: List[str]
    env: Dict[str, str]
    cwd: str
    out: str
    umask: int


def resolve(
    root: Root, attempt: AttemptDir, spec: AttemptSpec, secrets: Dict[str, str], host_env: Dict[str, str]
) -> Plan:
    """Raises Refused: no-code, no-cwd, no-space, no-input, missing-secret, bad-spec, no-out."""
    places = {"attempt": attempt.path, "root": root.path, "home": os.path.expanduser("~")}
    if spec.code_digest is not None:
        places["code"] = root.code(spec.code_digest)
        if not os.path.isdir(places["code"]):
            raise Refused("no-code", "code %s is not on the host: ship it first" % spec.code_digest)
    places["out"] = root.resolve(spec.out, places) if spec.out else attempt.out
    check_inputs(root, spec, places)
    check_space(root, spec, places["out"])
    cwd = root.resolve(spec.cwd, places) if spec.cwd else places.get("code", places["home"])
    if cwd != places["out"] and not os.path.isdir(cwd):
        raise Refused("no-cwd", "the working folder %s does not exist" % cwd)
    if not spec.argv:
        raise Refused("bad-spec", "argv is empty")
    argv = fill_all(spec.argv, places)
    argv[0] = os.path.expanduser(argv[0])
    return Plan(spec, argv, environment(spec, attempt, places, secrets, host_env), cwd, places["out"], current_umask())


def environment(
    spec: AttemptSpec, attempt: AttemptDir, places: Dict[str, str], secrets: Dict[str, str], host_env: Dict[str, str]
) -> Dict[str, str]:
    """The process's environment: the login's, the host's, the spec's, the secrets, and what names the attempt."""
    missing = sorted(set(spec.secrets) - set(secrets))
    if missing:
        raise Refused("missing-secret", "no value was delivered for %s" % ", ".join(missing))
    env = {name: value for name, value in os.environ.items() if not _DROPPED.match(name)}
    env["PYTHONUNBUFFERED"] = "1"
    if spec.gpus:
        env["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in spec.gpus)
    for given in (host_env, spec.env):
        env.update({name: fill(str(value), places) for name, value in given.items()})
    env.update({name: secrets[name] for name in spec.secrets})
    env.update(POINTSMAN_ATTEMPT_DIR=attempt.path, POINTSMAN_TOKEN=spec.token)
    bad = [name for name, value in env.items() if not _ENV_NAME.match(name) or "\0" in value]
    bad = [name for name in bad if name in host_env or name in spec.env or name in spec.secrets]
    if bad or any("\0" in part for part in spec.argv):
        raise Refused("bad-spec", "no process can be given this: %s" % (", ".join(sorted(bad)) or "NUL in argv"))
    return env


def check_inputs(root: Root, spec: AttemptSpec, places: Dict[str, str]) -> None:
    """Raises Refused when something that the attempt reads is not here."""
    missing = []
    for path, where in spec.inputs.items():
        resolved = root.resolve(path, places)
        if not os.path.exists(resolved):
            missing.append("%s is not on this host: %s" % (resolved, where))
    if missing:
        raise Refused("no-input", "; ".join(missing))


def check_space(root: Root, spec: AttemptSpec, out: str) -> None:
    """Raises Refused when the records or the data that the spec announces do not fit."""
    for path, need in ((root.path, CONTROL_BYTES), (out, spec.limits.disk_bytes or 0)):
        free = free_bytes(path)
        if free >= need:
            continue
        made = bytes_made(out) if path == out else 0
        if made is None or free >= need - made:
            continue
        part = ", of which %.1f GB are there already" % (made / 1e9) if made else ""
        message = "needs %.1f GB free%s, there are %.1f GB under %s" % (need / 1e9, part, free / 1e9, path)
        raise Refused("no-space", message)


def bytes_made(out: str) -> Optional[int]:
    """What an earlier attempt left to go on from; None when it cannot be counted in time, so that nobody can tell."""
    from runner.agent.usage import measure

    if not os.path.isdir(out):
        return 0
    size = measure(out, time.monotonic() + COUNT_S)
    return size.bytes if size.whole else None


def make_out(attempt: AttemptDir, plan: Plan) -> None:
    """Make the data folder, and `out` in the attempt's folder point to it."""
    try:
        os.makedirs(plan.out, exist_ok=True)
        if plan.out != attempt.out and not os.path.islink(attempt.out):
            os.symlink(plan.out, attempt.out)
    except OSError as error:
        raise Refused("no-out", "the data folder %s cannot be made: %s" % (plan.out, error)) from error


def existing(path: str) -> str:
    """`path` or its nearest parent that is there."""
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def free_bytes(path: str) -> int:
    """What an ordinary user may still write at `path`, which need not exist yet."""
    found = os.statvfs(existing(path))
    return found.f_bavail * found.f_frsize


def total_bytes(path: str) -> int:
    found = os.statvfs(existing(path))
    return found.f_blocks * found.f_frsize


def current_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
