"""The attempt as a job on its node: the same supervisor, started by Slurm instead of an agent."""

import contextlib
import os
import sys
from typing import Any, Dict, NoReturn

from runner.agent.locks import Locks
from runner.agent.plan import Plan
from runner.agent.root import Root
from runner.agent.supervisor import Answer, Supervisor, detach
from runner.protocol.attempt import AttemptDir
from runner.protocol.files import read_json
from runner.protocol.spec import AttemptSpec

PORTS = range(20000, 32000)  # for the ranks of a job to meet; below what systems give to outgoing connections


def main() -> NoReturn:
    """Argument: the attempt's folder. Ends with the command's exit code."""
    attempt = AttemptDir(sys.argv[1])
    if not claimed(attempt):
        sys.stderr.write("job %s does nothing: another has this attempt\n" % os.environ.get("SLURM_JOB_ID"))
        os._exit(0)
    job = read_json(attempt.job)
    spec = AttemptSpec.from_json(job["spec"])
    plan = Plan(spec, job["argv"], environment(spec), job["cwd"], job["out"], job["umask"])
    words = Words(os.dup(2))
    supervisor = Supervisor(attempt, plan, Locks(Root(job["root"]), []), words)
    rc = 1
    try:
        detach({words.handle})
        if supervisor.run([]):
            rc = supervisor.rc() or 0
    except BaseException as error:
        words.give({"error": "failed", "message": "the supervisor failed: %r" % error})
    finally:
        os._exit(min(rc, 255))


class Words(Answer):
    """What went wrong goes into the attempt's log: nobody waits for an answer."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle)
        self.handle = handle

    def give(self, word: Dict[str, Any]) -> None:
        if "error" in word:
            with contextlib.suppress(OSError):
                os.write(self.handle, (word["message"] + "\n").encode("utf-8", "replace"))


def claimed(attempt: AttemptDir) -> bool:
    """Whether this job is the one that does the attempt: the first to come, and not after its end."""
    if os.path.exists(attempt.exit) or os.path.exists(attempt.started):
        return False
    try:
        handle = os.open(attempt.job_claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    os.write(handle, os.environ.get("SLURM_JOB_ID", "").encode("ascii"))
    os.close(handle)
    return True


def environment(spec: AttemptSpec) -> Dict[str, str]:
    """The job's own, and how torchrun's agents find each other when srun starts one on every task."""
    env = dict(os.environ)
    task = spec.slurm
    if task is None or not task.srun:
        return env
    head = env.get("SLURMD_NODENAME") or os.uname().nodename
    number = int(env.get("SLURM_JOB_ID") or 0)
    port = PORTS[number % len(PORTS)]
    env.update(MASTER_ADDR=head, MASTER_PORT=str(port))
    env.update(PET_NNODES=str(task.nodes * task.tasks_per_node), PET_RDZV_BACKEND="c10d", PET_RDZV_ID=str(number))
    env["PET_RDZV_ENDPOINT"] = "%s:%d" % (head, port)
    return env
