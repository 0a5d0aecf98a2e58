"""Views of attempts: their state, and the files of the contract that belong to it."""

import os
from typing import Any, Dict, List, Optional

from runner.agent.identity import ProcessTable, Stat, alive, boot_id, descendants
from runner.agent.logs import newest_metrics, read_slice, tail
from runner.agent.refusal import Refused
from runner.agent.root import Root
from runner.agent.standing import State, optional
from runner.agent.state import look, reading
from runner.protocol.attempt import AttemptDir
from runner.protocol.errors import ProtocolError
from runner.protocol.times import epoch_s, utc_at
from runner.protocol.view import ABSENT, QUEUED, AttemptView, PollAsk

FILE_MAX = 8 << 20  # a status, evidence or result that is larger is not read
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def view(root: Root, ask: PollAsk, processes: ProcessTable) -> AttemptView:
    """Everything there is to tell of one attempt. Raises Refused and ProtocolError."""
    attempt = root.attempt(ask.attempt)
    state = look(attempt, ask.token)
    if state.name == ABSENT:
        return AttemptView(attempt=ask.attempt, state=ABSENT, why=state.why)
    problems: List[str] = []
    log = read_slice(attempt.log, ask.log_offset, ask.log_max)
    started, ended = state.started or {}, state.ended or {}
    return AttemptView(
        attempt=ask.attempt,
        state=state.name,
        token=ask.token,
        pid=started.get("pid"),
        started_at=started.get("at"),
        ended_at=ended.get("ended_at"),
        rc=ended.get("rc"),
        signal=ended.get("signal"),
        why=state.why,
        status=read_file(attempt.status, problems),
        evidence=read_file(attempt.evidence, problems) if state.over else None,
        result=read_file(os.path.join(attempt.out, "result.json"), problems) if state.over else None,
        metrics=newest_metrics(attempt.metrics),
        log=log.data,
        log_offset=log.offset,
        log_size=log.size,
        log_age_s=log.age_s,
        log_reset=log.reset,
        log_tail=tail(attempt.log) if state.over else "",
        cpu_s=None if state.over else cpu_seconds(state, processes.look()),
        survivors=list(ended.get("survivors", [])),
        until=turn_at(root, attempt) if state.name == QUEUED else None,
        problems=problems,
    )


def turn_at(root: Root, attempt: AttemptDir) -> Optional[str]:
    """When whoever an attempt waits for will have ended, as that one reckons itself."""
    try:
        holder = root.attempt((optional(attempt.queued) or {})["behind"])
        status = optional(holder.status) or {}
        return utc_at(epoch_s(status["heartbeat_at"]) + float(status["eta_s"]["likely"]))
    except (Refused, ProtocolError, OSError, KeyError, TypeError, ValueError):
        return None


def read_file(path: str, problems: List[str]) -> Optional[Dict[str, Any]]:
    def read() -> Optional[Dict[str, Any]]:
        try:
            size = os.path.getsize(path)
        except OSError:
            return None
        if size > FILE_MAX:
            problems.append("%s has %d bytes, more than is read" % (path, size))
            return None
        return optional(path)

    return reading(problems, read)


def cpu_seconds(state: State, table: List[Stat]) -> Optional[float]:
    """CPU time of the whole tree so far, of ended processes too while the supervisor lives."""
    if state.started is None or state.started["boot_id"] != boot_id():  # on a node of the cluster: not seen from here
        return None
    supervisor = state.started["supervisor"]
    top = supervisor if alive(supervisor, boot_id()) else state.started
    pids = {top["pid"], *descendants(top["pid"], table)}
    return sum(each.cpu_ticks for each in table if each.pid in pids) / _TICKS_A_SECOND
