"""Launching an attempt as a Slurm job: submitted at most once, whatever is repeated, lost or killed."""

import os
import shlex
import time
from dataclasses import replace
from typing import Any, Dict, List

from runner.agent import exits
from runner.agent.crash import reach
from runner.agent.launch import begun, claim
from runner.agent.plan import Plan, make_out, resolve
from runner.agent.refusal import Refused
from runner.agent.root import Root
from runner.agent.slurm import UNREACHABLE, Cluster, is_silence
from runner.agent.standing import optional
from runner.protocol.attempt import NAME, AttemptDir
from runner.protocol.files import sync_folder, write_bytes, write_json
from runner.protocol.spec import AttemptSpec, SlurmTask

SUBMIT_S = 20.0
SPARE_S = 120.0  # what Slurm gives beyond the attempt's own time limit: to end it in good order


def submit(
    root: Root,
    spec: AttemptSpec,
    secrets: Dict[str, str],
    host_env: Dict[str, str],
    given: Dict[str, Any],
    program: bytes,
) -> None:
    """Submit the attempt's job unless its token has one. Raises Refused: unreachable, slurm-refused, conflict, ….

    The order of things: folder, lock and spec as for any launch; slurm.json (from here on a job of this name may
    exist: whoever comes later asks for it before he submits another); sbatch; the job's number. A job whose
    submission was lost on the way and arrives late finds the attempt claimed by the other, and does nothing.
    """
    if not NAME.match(spec.token):
        raise Refused("bad-spec", "the token %r cannot be a job's name" % spec.token)
    attempt = root.attempt(spec.attempt)
    root.make(attempt.path)
    sync_folder(root.attempts)
    lock = claim(attempt, spec.token)
    if lock is None:
        return
    try:
        if begun(attempt) or os.path.exists(attempt.job_claim):
            return
        cluster = Cluster(given.get("bin") or "", given.get("conf") or "")
        if is_submitted(attempt, cluster, spec.token):
            return
        plan = prepare(root, attempt, spec, secrets, host_env, given, program)
        record = {"token": spec.token, "bin": cluster.bin, "conf": cluster.conf, "job": "", "at_s": time.time()}
        write_json(attempt.slurm, record)
        reach("submit.intended")
        job = hand_in(attempt, cluster, plan, given)
        reach("submit.accepted")
        write_json(attempt.slurm, dict(record, job=job, at_s=time.time()))
        reach("submit.noted")
    finally:
        os.close(lock)


def is_submitted(attempt: AttemptDir, cluster: Cluster, token: str) -> bool:
    """Whether an earlier launch got as far as a job. Raises Refused: unreachable."""
    record = optional(attempt.slurm)
    if record is None:
        return False
    if record["job"]:
        return True
    found = cluster.jobs(token, after_s=time.time())
    if found:
        write_json(attempt.slurm, dict(record, job=found[0].id, at_s=time.time()))
    return bool(found)


def prepare(
    root: Root,
    attempt: AttemptDir,
    spec: AttemptSpec,
    secrets: Dict[str, str],
    host_env: Dict[str, str],
    given: Dict[str, Any],
    program: bytes,
) -> Plan:
    """Everything that the job needs in the attempt's folder. Which GPUs it gets is Slurm's to say."""
    task = spec.slurm or SlurmTask()
    task = replace(task, gpus_per_node=task.gpus_per_node or len(spec.gpus))
    own = replace(spec, gpus=[], slurm=task)
    with root.using_code():
        plan = resolve(root, attempt, own, secrets, host_env)
        make_out(attempt, plan)
        write_json(attempt.spec, spec.to_json())
    exits.reserve(attempt)
    write_bytes(attempt.program, program)
    body = {"spec": own.to_json(), "argv": srun(task, given) + plan.argv}
    write_json(attempt.job, dict(body, cwd=plan.cwd, out=plan.out, umask=plan.umask, root=root.path))
    sync_folder(attempt.path)
    return plan


def srun(task: SlurmTask, given: Dict[str, Any]) -> List[str]:
    """What starts the command on every task; nothing where the first node alone runs it."""
    if not task.srun:
        return []
    command = [os.path.join(given.get("bin") or "", "srun"), "--kill-on-bad-exit=1", *size(task)]
    return [*command, "--"]


def size(task: SlurmTask) -> List[str]:
    cpus = [] if task.cpus_per_task is None else ["--cpus-per-task=%d" % task.cpus_per_task]
    return ["--nodes=%d" % task.nodes, "--ntasks-per-node=%d" % task.tasks_per_node, *cpus]


def hand_in(attempt: AttemptDir, cluster: Cluster, plan: Plan, given: Dict[str, Any]) -> str:
    """The number of the job. Raises Refused; after all but `unreachable` there is no job, and none will come."""
    argv = ["sbatch", "--parsable", *options(attempt, plan, given)]
    command = "exec %s -I -S %s %s" % tuple(
        shlex.quote(part) for part in (given.get("python") or "python3", attempt.program, attempt.path)
    )
    rc, output, errors = cluster.run(argv, SUBMIT_S, "#!/bin/sh\n%s\n" % command, plan.env)
    if rc == 0:
        return output.strip().partition(";")[0]
    if is_silence(errors):
        raise Refused(UNREACHABLE, "Slurm took no job: %s" % errors)
    os.unlink(attempt.slurm)
    raise Refused("slurm-refused", "Slurm refused the job: %s" % (errors or "sbatch ended with %d" % rc))


def options(attempt: AttemptDir, plan: Plan, given: Dict[str, Any]) -> List[str]:
    """All options of sbatch. What Slurm itself says of the job goes into the attempt's log."""
    spec, task = plan.spec, plan.spec.slurm or SlurmTask()
    found = [
        "--no-requeue",
        "--job-name=" + spec.token,
        "--chdir=" + attempt.path,
        "--output=" + os.path.basename(attempt.log),
        "--open-mode=append",
        "--export=ALL",
        *size(task),
        *(["--exclusive"] if spec.alone else []),
    ]
    named = {"partition": task.partition or given.get("partition"), "account": given.get("account")}
    named["qos"] = given.get("qos")
    named["gres"] = "gpu:%d" % task.gpus_per_node if task.gpus_per_node else None
    if spec.limits.wall_s is not None:
        named["time"] = str(-(-int(spec.limits.wall_s + SPARE_S) // 60))
    found += ["--%s=%s" % (name, value) for name, value in named.items() if value]
    return [*found, *(given.get("options") or []), *task.options]
