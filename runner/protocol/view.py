"""What a poll tells of an attempt and of its host."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from runner.protocol import records
from runner.protocol.errors import ProtocolError

# What the agent can know on the host. LAUNCHING, UNKNOWN and STALLED are the bot's own conclusions.
ABSENT = "absent"  # no such attempt directory: never launched here, or gone
QUEUED = "queued"  # waits for a lock on the host
STARTED = "started"  # the supervisor is past the point of no return, the process not seen yet
RUNNING = "running"
EXITED = "exited"
LOST = "lost"  # another boot, or the process gone without a record
CANCELLED = "cancelled"  # ended by an order
UNREADABLE = "unreadable"  # its records are damaged or of another version: nothing is known, `why` says what
UNREACHABLE = "unreachable"  # what runs it (Slurm's controller) gives no answer: nothing is known
STATES = (ABSENT, QUEUED, STARTED, RUNNING, EXITED, LOST, CANCELLED, UNREADABLE, UNREACHABLE)


@dataclass(frozen=True)
class PollAsk:
    """Ask for one attempt, and for its log from byte `log_offset` on (None: no log)."""

    attempt: str
    token: str
    log_offset: Optional[int] = None
    log_max: int = 65536


@dataclass(frozen=True)
class AttemptView:
    """One attempt as its host sees it. Files of the contract come parsed, None when absent."""

    attempt: str
    state: str
    token: Optional[str] = None
    pid: Optional[int] = None
    started_at: Optional[str] = None
    ended_at: Optional[str] = None
    rc: Optional[int] = None
    signal: Optional[int] = None
    why: str = ""  # for lost, queued, cancelled: in words
    status: Optional[Dict[str, Any]] = None
    evidence: Optional[Dict[str, Any]] = None  # once exited, when the attempt wrote one
    result: Optional[Dict[str, Any]] = None  # out/result.json, once exited
    metrics: List[Dict[str, Any]] = field(default_factory=list)  # the newest lines, at most 20
    log: bytes = b""  # from the asked offset on
    log_offset: int = 0  # the offset after `log`
    log_size: int = 0
    log_age_s: Optional[float] = None
    log_tail: str = ""  # the last lines, cleaned; filled once exited, lost or cancelled
    cpu_s: Optional[float] = None  # CPU seconds of the whole tree so far
    survivors: List[int] = field(default_factory=list)  # after a kill: pids still alive
    until: Optional[str] = None  # queued: when its turn will come, as whoever it waits for reckons
    log_reset: bool = False  # the log was shorter than the asked offset: `log` starts at its beginning
    problems: List[str] = field(default_factory=list)  # files of the contract that could not be read, in words

    def __post_init__(self) -> None:
        """The one place where what a host tells of an attempt enters: no odd record gets any further.

        What a stage wrote amiss is left out and named in `problems`; damage to the supervisor's own records makes
        the attempt unreadable, for a guess at an exit code would be worse than none.
        """
        problems = [records.text(str(each)) for each in self.problems]
        kept: Dict[str, Any] = {
            "why": records.text(str(self.why or "")),
            "log_tail": records.text(str(self.log_tail or "")),
            "status": records.status(self.status, problems),
            "evidence": records.evidence(self.evidence, problems),
            "result": records.result(self.result, problems),
            "metrics": records.metrics(self.metrics),
            "survivors": [pid for pid in self.survivors if isinstance(pid, int)],
        }
        odd = [name for name, kinds in _OWN.items() if not _fits(getattr(self, name), kinds)]
        if odd:
            said = ", ".join("%s is %.40r" % (name, getattr(self, name)) for name in odd)
            kept.update(dict.fromkeys(odd), state=UNREADABLE)
            kept["why"] = records.text("its records cannot be read: " + said)
            problems.append(kept["why"])
        for name, value in dict(kept, problems=problems).items():
            object.__setattr__(self, name, value)


_OWN = {
    "pid": int,
    "rc": int,
    "signal": int,
    "started_at": str,
    "ended_at": str,
    "until": str,
    "log_age_s": float,
    "cpu_s": float,
}


def _fits(value: Any, kind: type) -> bool:
    if value is None:
        return True
    if kind is str:
        return isinstance(value, str) and records.text(value) == value
    found = records.number(value)
    return found is not None and abs(found) <= records.LARGEST and (kind is float or isinstance(value, int))


@dataclass(frozen=True)
class Gpu:
    """One GPU, by nvidia-smi."""

    index: int
    name: str
    used_bytes: int
    total_bytes: int
    utilisation: Optional[float]
    processes: List[Dict[str, Any]] = field(default_factory=list)  # {pid, user, used_bytes}


@dataclass(frozen=True)
class HostFacts:
    """The host itself. Sizes in bytes."""

    boot_id: str
    hostname: str
    at: str
    free_bytes: int
    total_bytes: int
    load: float
    python: str
    cpus: int = 0
    gpus: List[Gpu] = field(default_factory=list)
    root: str = ""


@dataclass(frozen=True)
class HostView:
    """The answer to one poll."""

    facts: HostFacts
    attempts: List[AttemptView]


def to_json(view: AttemptView) -> Dict[str, Any]:
    """An attempt's view as a JSON object; log bytes are left out, they travel apart."""
    body: Dict[str, Any] = dict(vars(view))
    log = body.pop("log", None)
    if log is not None:
        body["log_bytes"] = len(log)
    return body


def host_view_from_json(value: Dict[str, Any], logs: bytes) -> HostView:
    """The answer to a poll; `logs` holds the log bytes of all attempts in order. Raises ProtocolError."""
    try:
        facts = dict(value["facts"])
        facts = {name: records.text(told) if isinstance(told, str) else told for name, told in facts.items()}
        facts["gpus"] = [Gpu(**records.plain(gpu)) for gpu in facts.get("gpus", [])]
        attempts, at = [], 0
        for item in value["attempts"]:
            size = item.pop("log_bytes", 0)
            attempts.append(AttemptView(**dict(item, log=logs[at : at + size])))
            at += size
        return HostView(facts=HostFacts(**facts), attempts=attempts)
    except (KeyError, TypeError, AttributeError) as error:
        raise ProtocolError("a poll's answer does not fit: %r" % error) from error
