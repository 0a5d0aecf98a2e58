"""The state of an attempt, told from what lies in its folder and what runs on the host."""

import os
from typing import Any, Callable, Dict, List, Optional

from runner.agent import exits
from runner.agent.identity import alive, boot_id, members
from runner.agent.locks import is_locked
from runner.agent.standing import State, ending, optional
from runner.protocol import view
from runner.protocol.attempt import AttemptDir
from runner.protocol.errors import ProtocolError


def look(attempt: AttemptDir, token: str) -> State:
    """Raises ProtocolError when a record is damaged or of another version."""
    spec = optional(attempt.spec)
    started = optional(attempt.started)
    for record in (spec, started):
        if record is not None and record.get("token") != token:
            return State(view.ABSENT, "the attempt was launched with another token")
    if os.path.exists(attempt.slurm):
        from runner.agent.jobs import job_state  # only where there is Slurm

        return job_state(attempt, token, started)
    ended = exits.read_exit(attempt)
    if ended is not None:
        return ending(started, ended)
    if started is None:
        return before_start(attempt, spec)
    return after_start(attempt, token, started)


def before_start(attempt: AttemptDir, spec: Optional[Dict[str, Any]]) -> State:
    """Nothing has been started yet: waiting in a queue, being launched, or given up halfway."""
    if is_locked(attempt.lock):
        queued = optional(attempt.queued)
        return State(view.QUEUED, queued["why"] if queued else "being launched")
    if spec is None:
        return State(view.ABSENT, "no such attempt on this host")
    return State(view.ABSENT, "its launch was broken off before anything started")


def after_start(attempt: AttemptDir, token: str, started: Dict[str, Any]) -> State:
    boot = boot_id()
    process_lives = alive(started, boot)
    if started.get("adopted") and started["boot_id"] == boot:
        return adopted(attempt, started, process_lives)
    if alive(started["supervisor"], boot):
        if process_lives:
            return State(view.RUNNING, "", started)
        ended = exits.read_exit(attempt)
        return ending(started, ended) if ended else State(view.RUNNING, "ending", started)
    # The supervisor may have written its record between the two looks.
    ended = exits.read_exit(attempt)
    if ended is not None:
        return ending(started, ended)
    if process_lives:
        return State(view.RUNNING, "its supervisor is gone", started)
    ended = exits.read_wrapper(attempt)
    if ended is not None:
        if os.path.exists(attempt.cancel):
            return ending(started, dict(ended, cause=exits.CANCELLED))
        return State(view.EXITED, "its supervisor is gone; the exit code is the wrapper's", started, ended)
    return gone(attempt, token, started, boot)


def adopted(attempt: AttemptDir, started: Dict[str, Any], lives: bool) -> State:
    """A process that we did not start tells nobody how it ended."""
    if lives:
        return State(view.RUNNING, "", started)
    if os.path.exists(attempt.cancel):
        return State(view.CANCELLED, "ended by an order; no exit code was recorded", started)
    return State(view.EXITED, "adopted, so that its exit code is not known", started, {"rc": None})


def gone(attempt: AttemptDir, token: str, started: Dict[str, Any], boot: str) -> State:
    if started["boot_id"] != boot:
        where = os.uname().nodename
        if started.get("host") not in (None, where):
            return State(view.LOST, "it was started on %s, this is %s" % (started["host"], where), started)
        return State(view.LOST, "the host was restarted", started)
    if members(token, None, None):
        return State(view.RUNNING, "its supervisor and first process are gone, others of it run", started)
    if os.path.exists(attempt.cancel):
        return State(view.CANCELLED, "ended by an order; no exit code was recorded", started)
    return State(view.LOST, "it ended without a record", started)


def reading(problems: List[str], read: Callable[[], Optional[Dict[str, Any]]]) -> Optional[Dict[str, Any]]:
    """What `read` gives; what it cannot read is noted in `problems`."""
    try:
        return read()
    except (ProtocolError, OSError) as error:
        problems.append(str(error))
        return None
