"""Ending an attempt's whole tree: by its supervisor, or here when that is gone."""

import contextlib
import os
import signal
import time
from typing import Any, Dict, List, Optional, Tuple

from runner.agent import exits, reserved
from runner.agent.identity import alive, boot_id, descendants, every_process, members, stat
from runner.agent.launch import check_token
from runner.agent.locks import open_lock, try_lock
from runner.agent.root import Root
from runner.agent.standing import State, optional
from runner.agent.state import look
from runner.protocol.attempt import AttemptDir
from runner.protocol.errors import DiskFull
from runner.protocol.files import write_json
from runner.protocol.times import utc_now

WAKE_EVERY_S = 0.5
SLACK_S = 8.0  # what the supervisor gets beyond the grace: to kill, sweep and record


def cancel(root: Root, name: str, token: str, grace_s: float) -> List[int]:
    """End the attempt; returns the pids that could not be ended.

    An attempt that never started is marked, so that a late launch of it starts nothing. Raises Refused
    (conflict) and ProtocolError.
    """
    attempt = root.attempt(name)
    root.make(attempt.path)
    check_token(attempt, token)
    if look(attempt, token).over:
        return []
    order(attempt, {"token": token, "grace_s": grace_s, "at": utc_now()})
    if not is_job(attempt) and not optional(attempt.started) and marked(attempt):
        return []
    now_s = time.monotonic()
    give_up_s, wake_s = now_s + grace_s + SLACK_S, now_s
    while now_s < give_up_s:
        if is_job(attempt):
            from runner.agent.jobs import end_job  # only where there is Slurm

            end_job(attempt, token, grace_s)
            return []
        state = look(attempt, token)
        if state.over:
            return []
        if now_s >= wake_s:
            if not wake(attempt):
                return end_orphans(attempt, token, state, grace_s)
            wake_s = now_s + WAKE_EVERY_S
        time.sleep(0.05)
        now_s = time.monotonic()
    return tree(token, look(attempt, token))


def is_job(attempt: AttemptDir) -> bool:
    """Whether Slurm has it, or may have it; a launch that is under way can make it so at any moment."""
    return os.path.exists(attempt.slurm)


def order(attempt: AttemptDir, record: Dict[str, Any]) -> None:
    """Write the order into its reserved space; a later one replaces it if there is space. Raises DiskFull."""
    try:
        reserved.fill(attempt.cancel_reserve, record)
        os.rename(attempt.cancel_reserve, attempt.cancel)
    except FileNotFoundError:
        try:
            write_json(attempt.cancel, record)
        except DiskFull:
            if not os.path.exists(attempt.cancel):
                raise


def marked(attempt: AttemptDir) -> bool:
    """Record the end of an attempt that has not started. False: somebody is launching it, or has."""
    lock = open_lock(attempt.lock)
    try:
        if not try_lock(lock) or os.path.exists(attempt.started):
            return False
        exits.reserve(attempt)
        exits.record_exit(attempt, None, exits.CANCELLED, [], [])
        return True
    finally:
        os.close(lock)


def wake(attempt: AttemptDir) -> bool:
    """Tell the supervisor to look for orders. False when there is none, and none to be."""
    record = supervisor_of(attempt)
    if record is None:
        return True  # a launch is on its way; its supervisor reads the order when it comes to it
    pid, lives = record
    if lives:
        try:
            os.kill(pid, signal.SIGUSR1)
        except OSError:
            return False
    return lives


def supervisor_of(attempt: AttemptDir) -> Optional[Tuple[int, bool]]:
    """The supervisor's pid, and whether it lives; None before there is a record of it."""
    started = optional(attempt.started)
    record = started["supervisor"] if started else optional(attempt.queued)
    return (record["pid"], alive(record, boot_id())) if record else None


def end_orphans(attempt: AttemptDir, token: str, state: State, grace_s: float) -> List[int]:
    """TERM, wait, KILL, sweep, without a supervisor. Nobody is signalled whose identity is not certain."""
    seen: Dict[int, int] = {}
    for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, SLACK_S)):
        give_up_s = time.monotonic() + wait_s
        left = still_there(token, state, seen)
        send(number, left)
        while left and time.monotonic() < give_up_s:
            time.sleep(0.05)
            left = still_there(token, state, seen)
            if number == signal.SIGKILL:
                send(number, left)
        if not left:
            return []
    return still_there(token, state, seen)


def still_there(token: str, state: State, seen: Dict[int, int]) -> List[int]:
    """The tree, and whoever of it was seen before and has lost his parent since; `seen` is kept up."""
    for pid in tree(token, state):
        found = stat(pid)
        if found is not None:
            seen[pid] = found.start_ticks
    live = ((pid, stat(pid), ticks) for pid, ticks in seen.items())
    return [pid for pid, found, ticks in live if found is not None and found.alive and found.start_ticks == ticks]


def send(number: signal.Signals, pids: List[int]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def tree(token: str, state: State) -> List[int]:
    """The attempt's live processes."""
    boot = boot_id()
    if state.started is None or state.started["boot_id"] != boot:
        return []
    if state.started.get("adopted"):
        return own_and_below(state.started, boot)
    session = state.started["pid"] if alive(state.started, boot) else None
    supervisor = state.started["supervisor"]
    return members(token, session, supervisor["pid"] if alive(supervisor, boot) else None)


def own_and_below(started: Dict[str, Any], boot: str) -> List[int]:
    """An adopted process and its children: nothing else is certain to be of it."""
    if not alive(started, boot):
        return []
    table = every_process()
    live = {each.pid for each in table if each.alive}
    return [pid for pid in (started["pid"], *descendants(started["pid"], table)) if pid in live]
