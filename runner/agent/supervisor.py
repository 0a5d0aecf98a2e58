"""The supervisor of one attempt: starts its process, adopts what that leaves behind, ends it, records how it ended."""

import contextlib
import ctypes
import json
import os
import signal
import time
from typing import Any, Dict, List, NoReturn, Optional, Set

from runner.agent import exits
from runner.agent.crash import reach
from runner.agent.identity import boot_id, members, start_ticks
from runner.agent.locks import Locks
from runner.agent.plan import Plan
from runner.agent.root import Root
from runner.agent.spawn import Child, spawn
from runner.agent.turns import Turn, Wants
from runner.protocol.attempt import AttemptDir
from runner.protocol.errors import DiskFull, ProtocolError
from runner.protocol.files import read_json, sync_folder, write_json
from runner.protocol.times import utc_now

IDLE_S = 300.0
QUEUE_S = 1.0
LINGER_S = 10.0  # what a finished attempt's left-overs get between TERM and KILL
WALL_GRACE_S = 60.0
KILLED_S = 5.0  # after KILL: how long until those still there count as survivors
_WAKE = (signal.SIGCHLD, signal.SIGUSR1)
_SUBREAPER = 36


def supervise(root: Root, attempt: AttemptDir, plan: Plan, lock: int, tell: int) -> NoReturn:
    """The life of the supervisor's process. `tell` is a pipe to the agent that launched it."""
    answer = Answer(tell)
    held = [lock]
    try:
        locks = Locks(root, plan.spec.gpus, plan.spec.alone)
        detach({lock, tell, *locks.handles.values()})
        reach("supervisor.detached")
        held.extend(locks.handles.values())
        supervisor = Supervisor(attempt, plan, locks, answer)
        supervisor.run(held)
    except BaseException as error:
        let_go(held)
        answer.give({"error": "failed", "message": "the supervisor failed: %r" % error})
    finally:
        os._exit(0)


def let_go(handles: List[int]) -> None:
    """Whoever hears that nothing was started may launch again at once: no lock of ours is in the way then."""
    for handle in handles:
        with contextlib.suppress(OSError):
            os.close(handle)


def detach(keep: Set[int]) -> None:
    """Let go of terminal, folder, signals and of every handle that is not in `keep`; adopt orphans."""
    os.chdir("/")
    os.umask(0o077)
    null = os.open("/dev/null", os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(null, handle)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in keep:
            with contextlib.suppress(OSError):
                os.close(int(name))
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAKE)
    libc = ctypes.CDLL(None)
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    with contextlib.suppress(AttributeError):  # not glibc
        libc.malloc_trim(0)


class Answer:
    """The word to the agent that launched us, given once; the agent may be gone."""

    def __init__(self, pipe: int) -> None:
        self.pipe: Optional[int] = pipe

    def give(self, word: Dict[str, Any]) -> None:
        if self.pipe is None:
            return
        with contextlib.suppress(OSError):
            os.write(self.pipe, json.dumps(word).encode("ascii"))
        os.close(self.pipe)
        self.pipe = None


def myself() -> Dict[str, Any]:
    """This process, as records name it."""
    pid = os.getpid()
    return {"boot_id": boot_id(), "pid": pid, "start_ticks": start_ticks(pid)}


class Supervisor:
    """State of one attempt between its start and its record."""

    def __init__(self, attempt: AttemptDir, plan: Plan, locks: Locks, answer: Answer) -> None:
        self.attempt = attempt
        self.plan = plan
        self.locks = locks
        self.answer = answer
        self.child = Child(0, 0)
        self.wait_status: Optional[int] = None  # of the wrapper, once reaped
        self.cause = ""  # why the tree is being ended; "" while it is not
        self.kill_at_s = self.wall_at_s = self.give_up_at_s = float("inf")
        self.warned = False
        self.swept: Set[int] = set()

    def run(self, held: List[int]) -> bool:
        """From the locks to the record. False: nothing was started; `held` is let go before that is said."""
        if not self.wait_for_locks():
            return False
        refused = self.start()
        if refused is not None:
            let_go(held)
            self.answer.give(refused)
            return False
        self.watch()
        return True

    def wait_for_locks(self) -> bool:
        """Take the locks, in a queue if need be. False: cancelled before it was our turn."""
        said, since, spec = "", utc_now(), self.plan.spec
        turn = Turn(self.locks.root, spec.attempt, Wants(spec.gpus, spec.alone))
        try:
            while self.cancel_order() is None:
                told = turn.take(self.locks)
                if told is None:
                    self.locks.sign(spec.attempt, utc_now())
                    return True
                behind, why = told
                if why != said:
                    with contextlib.ExitStack() as full:
                        if said:  # somebody was told that it waits: a disk that is full by now does not end that
                            full.enter_context(contextlib.suppress(OSError, DiskFull))
                        write_json(self.attempt.queued, dict(myself(), why=why, behind=behind, since=since))
                        said = why
                    self.answer.give({"queued": why})
                signal.sigtimedwait(_WAKE, QUEUE_S)
            exits.record_exit(self.attempt, None, exits.CANCELLED, [], [])
            return False
        finally:
            turn.leave()

    def start(self) -> Optional[Dict[str, Any]]:
        """Start the process, held back until started.json is durable. Nothing was started if it returns why."""
        boot = boot_id()
        self.child = spawn(self.attempt, self.plan, list(self.locks.handles.values()))
        reach("supervisor.child")
        try:
            write_json(self.attempt.started, self.started_record(boot))
            sync_folder(self.attempt.path)
        except (OSError, DiskFull) as error:
            self.child.abandon()
            return {"error": "no-space" if isinstance(error, DiskFull) else "failed", "message": str(error)}
        reach("supervisor.started")
        if os.path.exists(self.attempt.queued):
            os.unlink(self.attempt.queued)
        self.child.release()
        reach("supervisor.released")
        if self.plan.spec.limits.wall_s is not None:
            self.wall_at_s = time.monotonic() + self.plan.spec.limits.wall_s
        self.answer.give({"pid": self.child.pid})
        reach("supervisor.answered")
        return None

    def started_record(self, boot: str) -> Dict[str, Any]:
        return {
            "token": self.plan.spec.token,
            "boot_id": boot,
            "pid": self.child.pid,
            "start_ticks": start_ticks(self.child.pid),
            "host": os.uname().nodename,
            "at": utc_now(),
            "supervisor": myself(),
        }

    def watch(self) -> None:
        """Until the whole tree is gone, or what is left of it cannot be ended; then record the end."""
        while not self.over():
            signal.sigtimedwait(_WAKE, self.nap_s())
        survivors = self.members()
        cause = "" if self.cause == exits.LEFT_OVERS and not self.swept else self.cause
        exits.record_exit(self.attempt, self.rc(), cause, survivors, sorted(self.swept))
        while survivors:  # our locks are theirs
            time.sleep(5.0)
            self.reap()
            survivors = self.members()

    def over(self) -> bool:
        """One look: reap, take orders, press on. True once there is nothing more to do."""
        self.reap()
        now_s = time.monotonic()
        self.take_orders(now_s)
        if not self.cause:
            return False
        left = self.members()
        self.press(left, now_s)
        return self.wait_status is not None and (not left or now_s >= self.give_up_at_s)

    def reap(self) -> None:
        """Collect whatever has ended; orphans of the tree are ours too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.child.pid:
                self.wait_status = status

    def take_orders(self, now_s: float) -> None:
        """Decide whether, why and until when the tree has to end."""
        if self.cause not in ("", exits.LEFT_OVERS):
            return
        grace_s = self.cancel_order()
        if grace_s is not None:
            self.end(exits.CANCELLED if self.wait_status is None else self.cause, now_s + grace_s)
        elif not self.cause and now_s >= self.wall_at_s and self.wait_status is None:
            self.end(exits.WALL, now_s + WALL_GRACE_S)
        elif not self.cause and self.wait_status is not None:
            self.end(exits.LEFT_OVERS, now_s + LINGER_S)

    def end(self, cause: str, kill_at_s: float) -> None:
        self.cause = cause
        self.kill_at_s = min(self.kill_at_s, kill_at_s)
        self.give_up_at_s = self.kill_at_s + KILLED_S

    def press(self, left: List[int], now_s: float) -> None:
        """TERM once to those who are there, KILL to all once their time is up.

        What they start after the TERM, to save their work, is not disturbed.
        """
        if now_s >= self.kill_at_s:
            self.send(signal.SIGKILL, left)
        elif not self.warned:
            self.warned = True
            self.send(signal.SIGTERM, left)

    def send(self, number: signal.Signals, pids: List[int]) -> None:
        self.swept.update(pids)
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def cancel_order(self) -> Optional[float]:
        """The grace, in seconds, that an order to cancel gives; None without an order."""
        try:
            return float(read_json(self.attempt.cancel).get("grace_s", 0.0))
        except FileNotFoundError:
            return None
        except (ProtocolError, ValueError, TypeError, OSError):
            return 0.0

    def members(self) -> List[int]:
        """Asked again until /proc can be read: an unreadable one must not pass for an empty one."""
        ours = self.child.pid if self.wait_status is None else None
        while True:
            try:
                return members(self.plan.spec.token, ours, os.getpid())
            except OSError:
                time.sleep(1.0)

    def nap_s(self) -> float:
        now_s = time.monotonic()
        if self.cause:
            return 0.05 if self.wait_status is not None or now_s >= self.kill_at_s else 0.2
        return max(0.0, min(IDLE_S, self.wall_at_s - now_s))

    def rc(self) -> Optional[int]:
        """As a shell tells it: 128 and the signal for a process that a signal ended."""
        if self.wait_status is None:
            return None
        if os.WIFSIGNALED(self.wait_status):
            return 128 + os.WTERMSIG(self.wait_status)
        return os.WEXITSTATUS(self.wait_status)
