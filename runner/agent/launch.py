"""Launching at most once: whatever is repeated, lost or killed, a token starts one process or none."""

import json
import os
import select
import time
from typing import Dict, List, Optional

from runner.agent import exits
from runner.agent.crash import reach
from runner.agent.locks import open_lock, try_lock
from runner.agent.plan import Plan, make_out, resolve
from runner.agent.refusal import Refused
from runner.agent.root import Root
from runner.agent.supervisor import supervise
from runner.protocol.attempt import AttemptDir
from runner.protocol.files import read_json, sync_folder, write_json
from runner.protocol.spec import AttemptSpec

ANSWER_S = 20.0


def launch(root: Root, spec: AttemptSpec, secrets: Dict[str, str], host_env: Dict[str, str]) -> None:
    """Start the attempt unless its token has started already. Raises Refused: conflict, no-space, no-code, ….

    The order of things: the folder (`mkdir` names the attempt), the lock (one launcher at a time; the
    supervisor inherits it), spec.json (binds the token), the reserved records, the supervisor, started.json
    (nothing before it has started anything, nothing after it starts anything again), the process.
    """
    attempt = root.attempt(spec.attempt)
    root.make(attempt.path)
    sync_folder(root.attempts)
    reach("agent.folder")
    lock = claim(attempt, spec.token)
    if lock is None:
        return
    try:
        if begun(attempt):
            return
        with root.using_code():
            plan = resolve(root, attempt, spec, secrets, host_env)
            make_out(attempt, plan)
            write_json(attempt.spec, spec.to_json())
        reach("agent.spec")
        exits.reserve(attempt)
        sync_folder(attempt.path)
        reach("agent.reserved")
        hand_over(root, attempt, plan, lock)
        reach("agent.answered")
    finally:
        os.close(lock)  # the supervisor's copy keeps it locked


def begun(attempt: AttemptDir) -> bool:
    """Whether the point of no return is passed, or the attempt was cancelled before it."""
    return os.path.exists(attempt.started) or os.path.exists(attempt.exit)


def check_token(attempt: AttemptDir, token: str) -> None:
    """Raises Refused when the attempt's folder belongs to another token."""
    for path in (attempt.spec, attempt.cancel):
        try:
            known = read_json(path).get("token")
        except FileNotFoundError:
            continue
        if known is not None and known != token:
            raise Refused("conflict", "%s was launched with another token" % os.path.basename(attempt.path))


def claim(attempt: AttemptDir, token: str) -> Optional[int]:
    """The attempt's lock, held; None once somebody else has launched it. Raises Refused."""
    give_up_s = time.monotonic() + ANSWER_S
    lock = open_lock(attempt.lock)
    while True:
        check_token(attempt, token)
        if try_lock(lock):
            reach("agent.locked")
            try:
                check_token(attempt, token)
            except Refused:
                os.close(lock)
                raise
            return lock
        if begun(attempt) or os.path.exists(attempt.queued):
            os.close(lock)
            return None
        if time.monotonic() > give_up_s:
            os.close(lock)
            raise Refused("busy", "another launch of this attempt has not finished in %d s" % ANSWER_S)
        time.sleep(0.02)


def hand_over(root: Root, attempt: AttemptDir, plan: Plan, lock: int) -> None:
    """Fork the supervisor twice, so that it belongs to nobody, and wait for its word. Raises Refused."""
    answer, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(answer)
            os.setsid()
            if os.fork() == 0:
                supervise(root, attempt, plan, lock, tell)
        finally:
            os._exit(0)
    os.close(tell)
    reach("agent.forked")
    os.waitpid(pid, 0)
    said = read_until_closed(answer, ANSWER_S)
    if not said and not begun(attempt):
        raise Refused("failed", "the supervisor ended without a word")
    word = json.loads(said.decode("ascii")) if said else {}
    if word.get("error"):
        raise Refused(word["error"], word["message"])


def read_until_closed(handle: int, timeout_s: float) -> bytes:
    """What comes through a pipe until it is closed, or for `timeout_s`."""
    parts: List[bytes] = []
    give_up_s = time.monotonic() + timeout_s
    while True:
        left_s = give_up_s - time.monotonic()
        if left_s <= 0 or not select.select([handle], [], [], left_s)[0]:
            break
        part = os.read(handle, 65536)
        if not part:
            break
        parts.append(part)
    os.close(handle)
    return b"".join(parts)
