"""What runs or lies on the host already, and was not made by us: looked at, and taken on as an attempt."""

import contextlib
import os
from typing import Any, Dict, List, Optional

from runner.agent import exits
from runner.agent.gpus import user_of
from runner.agent.identity import Stat, alive, boot_id, stat
from runner.agent.launch import begun, claim
from runner.agent.refusal import Refused
from runner.agent.root import Root
from runner.agent.usage import measure
from runner.protocol.attempt import AttemptDir
from runner.protocol.files import sync_folder, write_json
from runner.protocol.spec import AttemptSpec
from runner.protocol.times import utc_at, utc_now

COMMAND_MAX = 400
NOBODY = {"pid": 0, "start_ticks": 0}  # no supervisor stands above a process that we did not start


def inspect_folder(root: Root, path: str) -> Dict[str, Any]:
    """Its absolute path and size. Raises Refused: no-folder."""
    found = os.path.realpath(root.resolve(path))
    if not os.path.isdir(found):
        raise Refused("no-folder", "%s is no folder on this host" % found)
    if not os.access(found, os.R_OK | os.X_OK):
        raise Refused("no-folder", "%s cannot be read by the bot's account" % found)
    size = measure(found)
    if size.files == 0:
        raise Refused("no-folder", "%s holds no file" % found)
    return {"path": found, "bytes": size.bytes, "files": size.files, "whole": size.whole}


def inspect_process(pid: int) -> Dict[str, Any]:
    """What names the process for good, what it is, and where it seems to write. Raises Refused: no-process."""
    found = stat(pid)
    if found is None or not found.alive:
        raise Refused("no-process", "no process on this host has the pid %d" % pid)
    argv = read_argv(pid)
    if not argv:
        raise Refused("no-process", "pid %d is a part of the kernel" % pid)
    return {
        "pid": pid,
        "start_ticks": found.start_ticks,
        "boot_id": boot_id(),
        "started_at": started_at(found),
        "user": user_of(pid),
        "command": " ".join(argv)[:COMMAND_MAX],
        "out": out_of(pid, argv),
    }


def read_argv(pid: int) -> List[str]:
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return [part.decode("utf-8", "replace") for part in file.read().split(b"\0")[:-1]]
    except OSError:
        return []


def started_at(found: Stat) -> Optional[str]:
    try:
        with open("/proc/stat") as file:
            boot_s = next(int(line.split()[1]) for line in file if line.startswith("btime"))
    except (OSError, StopIteration, ValueError):
        return None
    return utc_at(boot_s + found.start_ticks / os.sysconf("SC_CLK_TCK"))


def out_of(pid: int, argv: List[str]) -> Optional[str]:
    """The folder that it was told to write into (`--out`), None when it was told none."""
    for i, part in enumerate(argv):
        name, equals, value = part.partition("=")
        if name in ("--out", "--output", "--output-dir", "--output_dir"):
            told = value if equals else (argv[i + 1] if i + 1 < len(argv) else "")
            try:
                return os.path.normpath(os.path.join(os.readlink("/proc/%d/cwd" % pid), told)) if told else None
            except OSError:
                return told if os.path.isabs(told) else None
    return None


def adopt(root: Root, spec: AttemptSpec, process: Dict[str, Any]) -> None:
    """Watch a process as this attempt; a repeat changes nothing. Raises Refused: no-process, no-folder, conflict."""
    attempt = root.attempt(spec.attempt)
    root.make(attempt.path)
    sync_folder(root.attempts)
    lock = claim(attempt, spec.token)
    if lock is None:
        return
    try:
        if begun(attempt):
            return
        if not alive(process, boot_id()):
            raise Refused("no-process", "pid %d has ended, or is another process by now" % process["pid"])
        link_out(root, attempt, spec)
        write_json(attempt.spec, spec.to_json())
        exits.reserve(attempt)
        link_log(attempt, process["pid"])
        boot = process["boot_id"]
        record = {"token": spec.token, "boot_id": boot, "pid": process["pid"], "start_ticks": process["start_ticks"]}
        record.update(host=os.uname().nodename, at=process.get("started_at") or utc_now(), adopted=True)
        write_json(attempt.started, dict(record, supervisor=dict(NOBODY, boot_id=boot)))
        sync_folder(attempt.path)
    finally:
        os.close(lock)


def link_out(root: Root, attempt: AttemptDir, spec: AttemptSpec) -> None:
    out = root.resolve(spec.out or "")
    if not os.path.isdir(out):
        raise Refused("no-folder", "%s is no folder on this host" % out)
    if not os.path.islink(attempt.out):
        os.symlink(out, attempt.out)


def link_log(attempt: AttemptDir, pid: int) -> None:
    """Where its output goes into a file, that file is the attempt's log."""
    with contextlib.suppress(OSError):
        target = os.readlink("/proc/%d/fd/1" % pid)
        if os.path.isfile(target) and not os.path.lexists(attempt.log):
            os.symlink(target, attempt.log)
