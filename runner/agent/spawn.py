"""A child that waits behind a gate: it becomes the attempt's process only once it is told to."""

import os
import signal
from typing import List, NamedTuple, NoReturn

from runner.agent.exits import WRAPPER
from runner.agent.plan import Plan
from runner.protocol.attempt import AttemptDir

_OOM_SCORE = b"300"  # the kernel shall take the work before its supervisor


class Child(NamedTuple):
    """A forked process and the gate that holds it back. If its supervisor dies, the gate closes and it ends."""

    pid: int
    gate: int

    def release(self) -> None:
        os.write(self.gate, b"1")
        os.close(self.gate)

    def abandon(self) -> None:
        os.close(self.gate)
        os.waitpid(self.pid, 0)


def spawn(attempt: AttemptDir, plan: Plan, inherited: List[int]) -> Child:
    """Fork. The process keeps the handles in `inherited`: GPU locks live as long as somebody of the tree does."""
    log = os.open(attempt.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    waiting, gate = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(gate)
            become(plan, waiting, log, inherited)
        finally:
            os._exit(127)
    os.close(waiting)
    os.close(log)
    return Child(pid, gate)


def become(plan: Plan, waiting: int, log: int, inherited: List[int]) -> NoReturn:
    """In the child: wait at the gate, then turn into the wrapper."""
    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if os.read(waiting, 1) != b"1":
        os._exit(0)
    yield_to_oom_killer()
    os.umask(plan.umask)
    for handle in inherited:
        os.set_inheritable(handle, True)
    try:
        os.chdir(plan.cwd)
        os.execve("/bin/sh", ["/bin/sh", "-c", WRAPPER, "pointsman", *plan.argv], plan.env)
    except OSError as error:
        os.write(2, ("cannot start: %s\n" % error).encode())
        os._exit(126)


def yield_to_oom_killer() -> None:
    try:
        with open("/proc/self/oom_score_adj", "wb") as file:
            file.write(_OOM_SCORE)
    except OSError:
        pass  # some containers refuse it
