"""Slurm's own commands: what its controller says of our jobs, and what it is told to do with them."""

import os
import subprocess
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from runner.agent.refusal import Refused

ASK_S = 6.0  # a controller that is silent for longer is not reachable
FRESH_S = 2.0  # one answer serves all attempts of a poll, and spares the controller
LIVE = (
    "PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING",
    "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT",
)  # fmt: skip
_FORMAT = "%i|%T|%r|%P|%e|%j"  # the name comes last: it may hold anything
UNREACHABLE = "unreachable"
_SILENT = ("contact", "timed out", "connection", "not responding", "temporarily unable", "zero bytes", "network")


class Job(NamedTuple):
    """One job as the controller shows it. `ended_s`: seconds since 1970, when it has ended."""

    id: str
    state: str
    reason: str
    partition: str
    ended_s: Optional[float]
    name: str

    @property
    def live(self) -> bool:
        return self.state in LIVE


class Cluster(NamedTuple):
    """Where the commands lie (`bin`, "" for the PATH), and which configuration they read ("" for their own)."""

    bin: str = ""
    conf: str = ""

    def run(
        self, argv: List[str], timeout_s: float, text: str = "", env: Optional[Dict[str, str]] = None
    ) -> Tuple[int, str, str]:
        """Exit code, output and errors of a command. Raises Refused: unreachable (no answer in time), no-slurm."""
        env = clean(dict(os.environ) if env is None else env, self.conf)
        try:
            done = subprocess.run(
                [os.path.join(self.bin, argv[0]), *argv[1:]],
                input=text.encode("utf-8", "surrogateescape"),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=timeout_s,
                env=env,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Refused(UNREACHABLE, "%s had no answer of Slurm within %.0f s" % (argv[0], timeout_s)) from None
        except OSError as error:
            raise Refused("no-slurm", "%s cannot be run here: %s" % (argv[0], error)) from error
        return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace").strip()

    def ask(self, argv: List[str]) -> str:
        """The output of a command that asks or tells the controller. Raises Refused: unreachable."""
        rc, output, errors = self.run(argv, ASK_S)
        if rc != 0:
            raise Refused(UNREACHABLE, "Slurm gives no answer: %s" % (errors or "%s ended with %d" % (argv[0], rc)))
        return output

    def jobs(self, name: str, after_s: float = 0.0) -> List[Job]:
        """Our jobs of this name, the oldest first; asked after the time `after_s`. Raises Refused: unreachable."""
        kept = _kept.get(self)
        if kept is None or time.monotonic() - kept.asked_s > FRESH_S or kept.asked_at_s <= after_s:
            kept = _kept[self] = self._look()
        if kept.error is not None:
            raise Refused(kept.error.kind, kept.error.message)
        return [job for job in kept.jobs if job.name == name]

    def _look(self) -> "_Look":
        at_s = time.time()
        argv = ["squeue", "--user=%d" % os.getuid(), "--states=all", "--noheader", "--format=" + _FORMAT]
        try:
            return _Look(time.monotonic(), at_s, [parse(line) for line in self.ask(argv).splitlines() if line], None)
        except Refused as error:
            return _Look(time.monotonic(), at_s, [], error)

    def cancel(self, name: str, *options: str) -> None:
        """End or signal our jobs of this name; that there is none is no error. Raises Refused: unreachable."""
        rc, _, errors = self.run(["scancel", "--user=%d" % os.getuid(), "--name=" + name, *options], ASK_S)
        if rc != 0 and is_silence(errors):  # other complaints are of jobs that have just ended or are about to start
            raise Refused(UNREACHABLE, "Slurm gives no answer: %s" % errors)

    def partitions(self) -> List[Dict[str, Any]]:
        """Name, state, nodes, CPUs a node, GPUs and whether it is the default. Raises Refused: unreachable."""
        found = []
        for line in self.ask(["sinfo", "--noheader", "--format=%R|%P|%a|%D|%c|%G|%l"]).splitlines():
            name, shown, state, nodes, cpus, gres, limit = line.split("|")
            about = {"nodes": nodes, "cpus": cpus, "gres": gres, "time_limit": limit}
            found.append({"name": name, "default": shown.endswith("*"), "state": state, **about})
        return found


class _Look(NamedTuple):
    """One answer of the controller, or why there was none."""

    asked_s: float
    asked_at_s: float
    jobs: List[Job]
    error: Optional[Refused]


_kept: Dict[Cluster, _Look] = {}


def is_silence(errors: str) -> bool:
    """Whether a command's complaint means that the controller was not reached."""
    return any(word in errors.lower() for word in _SILENT)


def parse(line: str) -> Job:
    """One line of squeue."""
    id_, state, reason, partition, ended, name = line.split("|", 5)
    return Job(id_, state.split()[0], reason, partition, float(ended) if ended.isdigit() else None, name)


def clean(env: Dict[str, str], conf: str) -> Dict[str, str]:
    """The environment without what a surrounding job or a login's habits would have Slurm's commands do."""
    kept = {name: value for name, value in env.items() if not name.startswith(("SLURM_", "SBATCH_", "SCANCEL_"))}
    conf = conf or env.get("SLURM_CONF", "")
    return dict(kept, SLURM_TIME_FORMAT="%s", **({"SLURM_CONF": conf} if conf else {}))
