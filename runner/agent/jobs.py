"""Attempts that are Slurm jobs: their state by token, never by number, and how they are ended."""

import os
import time
from typing import Any, Dict, List, Optional

from runner.agent import exits
from runner.agent.refusal import Refused
from runner.agent.slurm import Cluster, Job
from runner.agent.standing import State, ending, optional
from runner.protocol import view
from runner.protocol.attempt import AttemptDir
from runner.protocol.files import read_json, write_json

SETTLED_S = 120.0  # an attempt that has ended counts as such by then, whatever its job still does
RECORD_S = 30.0  # how long after a job's end its record may take to be seen here, over a network file system
SUPERVISOR_S = 10.0  # what the job's supervisor gets beyond the grace: to kill, sweep and record
SLURM_S = 10.0  # what Slurm gets after each of its own signals
AGAIN_S = 1.0
_WHY = {
    "PREEMPTED": "Slurm preempted its job",
    "NODE_FAIL": "a node of its job failed",
    "BOOT_FAIL": "a node of its job did not boot",
    "OUT_OF_MEMORY": "Slurm ended its job: out of memory",
    "TIMEOUT": "Slurm ended its job at the job's time limit",
    "DEADLINE": "Slurm ended its job at its deadline",
    "CANCELLED": "its job was cancelled in Slurm, not by us",
}


def job_state(attempt: AttemptDir, token: str, started: Optional[Dict[str, Any]]) -> State:
    """Raises ProtocolError. A controller that gives no answer makes the state unreachable, whatever it was."""
    record = read_json(attempt.slurm)
    ended = exits.read_exit(attempt)
    if ended is not None and (ended.get("cause") == exits.CANCELLED or record.get("state") is not None):
        return ending_of(started, ended, record)
    try:
        jobs = cluster_of(record).jobs(token, float(record["at_s"]))
    except Refused as error:
        return ending_of(started, ended, record) if ended else State(view.UNREACHABLE, error.message, started)
    live = [job for job in jobs if job.live]
    if ended is None:
        return living(live, started) if live else over(attempt, record, jobs, started)
    if live and age_s(attempt.exit) < SETTLED_S:
        return State(view.RUNNING, "ending", started)
    return ending_of(started, ended, record if live else noted(attempt, record, jobs))


def age_s(path: str) -> float:
    return time.time() - os.stat(path).st_mtime


def ending_of(started: Optional[Dict[str, Any]], ended: Dict[str, Any], record: Dict[str, Any]) -> State:
    """By the record; a job that was preempted is not done, though its process may have ended in good order."""
    state = record.get("state")
    if state == "PREEMPTED":
        return State(view.LOST, lost_why(record, state), started, ended)
    found = ending(started, ended)
    if state in _WHY and ended.get("cause") != exits.CANCELLED:
        return found._replace(why=lost_why(record, state))
    return found


def cluster_of(record: Dict[str, Any]) -> Cluster:
    return Cluster(record["bin"], record["conf"])


def living(live: List[Job], started: Optional[Dict[str, Any]]) -> State:
    job = next((job for job in live if job.state != "PENDING"), live[0])
    if started is not None:
        return State(view.RUNNING, "" if job.state == "RUNNING" else told(job), started)
    if job.state == "PENDING":
        return State(view.QUEUED, told(job))
    return State(view.STARTED, told(job))


def told(job: Job) -> str:
    reason = ", %s" % job.reason if job.reason not in ("None", "") else ""
    return "Slurm job %s, partition %s: %s%s" % (job.id, job.partition, job.state.lower(), reason)


def over(attempt: AttemptDir, record: Dict[str, Any], jobs: List[Job], started: Optional[Dict[str, Any]]) -> State:
    """No job of this name lives, and the supervisor's record is not there."""
    newest = jobs[-1] if jobs else None
    if newest is None and not record["job"] and started is None:
        return State(view.ABSENT, "its submission was broken off")
    if newest is not None and newest.state in ("COMPLETED", "FAILED") and is_fresh(newest):
        return State(view.RUNNING if started else view.STARTED, "its job has ended, the record is awaited", started)
    ended = exits.read_exit(attempt)  # it may have been written between the two looks
    if ended is not None:
        return ending_of(started, ended, noted(attempt, record, jobs))
    cancelled = os.path.exists(attempt.cancel)
    ended = exits.read_wrapper(attempt)
    if ended is not None:
        if cancelled:
            return ending(started, dict(ended, cause=exits.CANCELLED))
        return ending_of(started, ended, noted(attempt, record, jobs))
    if cancelled:
        return State(view.CANCELLED, "ended by an order; no exit code was recorded", started)
    record = noted(attempt, record, jobs)
    return State(view.LOST, lost_why(record, record.get("state")), started)


def is_fresh(job: Job) -> bool:
    return job.ended_s is not None and time.time() - job.ended_s < RECORD_S


def noted(attempt: AttemptDir, record: Dict[str, Any], jobs: List[Job]) -> Dict[str, Any]:
    """The record with how the controller says the job ended: it forgets that after some minutes, we don't."""
    if jobs and record.get("state") is None:
        record = dict(record, state=jobs[-1].state, reason=jobs[-1].reason, job=jobs[-1].id)
        write_json(attempt.slurm, record)
    return record


def lost_why(record: Dict[str, Any], state: Optional[str]) -> str:
    if state is None:
        return "Slurm does not know its job %s any more" % record["job"]
    reason = record.get("reason") or "None"
    said = "" if reason == "None" else ": %s" % reason
    return "%s (job %s%s)" % (_WHY.get(state, "its job is %s, without a record" % state.lower()), record["job"], said)


def end_job(attempt: AttemptDir, token: str, grace_s: float) -> None:
    """End the attempt's job: by its supervisor, else by Slurm, else by KILL; repeated until none lives.

    The order is written already. Raises Refused: unreachable (say it again later), still-running.
    """
    record = read_json(attempt.slurm)
    cluster = cluster_of(record)
    cluster.cancel(token, "--state=PENDING")
    steps = (
        (grace_s + SUPERVISOR_S, ("--batch", "--signal=USR1")),
        (SLURM_S, ()),
        (SLURM_S, ("--full", "--signal=KILL")),
    )
    for wait_s, how in steps:
        give_up_s = time.monotonic() + wait_s
        while time.monotonic() < give_up_s:
            if not live_jobs(cluster, token):
                close(attempt)
                return
            cluster.cancel(token, *how)
            time.sleep(AGAIN_S)
    left = live_jobs(cluster, token)
    if left:
        raise Refused("still-running", "Slurm could not end it yet: %s" % "; ".join(told(job) for job in left))
    close(attempt)


def live_jobs(cluster: Cluster, token: str) -> List[Job]:
    return [job for job in cluster.jobs(token, after_s=time.time()) if job.live]


def close(attempt: AttemptDir) -> None:
    """A job that never began leaves no record: write one, so that whatever comes late starts nothing."""
    if optional(attempt.started) is None and exits.read_exit(attempt) is None:
        exits.record_exit(attempt, None, exits.CANCELLED, [], [])
