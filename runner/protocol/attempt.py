"""The layout of an attempt directory. One class owns it."""

import os
import re

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")


class AttemptDir:
    """Paths of `attempts/<run>-<stage>-<n>/`."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def spec(self) -> str:
        return os.path.join(self.path, "spec.json")

    @property
    def started(self) -> str:
        """Written by the supervisor before the process starts: the point of no return."""
        return os.path.join(self.path, "started.json")

    @property
    def status(self) -> str:
        return os.path.join(self.path, "status.json")

    @property
    def metrics(self) -> str:
        return os.path.join(self.path, "metrics.jsonl")

    @property
    def log(self) -> str:
        return os.path.join(self.path, "log.txt")

    @property
    def exit(self) -> str:
        return os.path.join(self.path, "exit.json")

    @property
    def evidence(self) -> str:
        return os.path.join(self.path, "evidence.json")

    @property
    def out(self) -> str:
        return os.path.join(self.path, "out")

    @property
    def lock(self) -> str:
        """Held (flock) by whoever launches, then by the supervisor as long as it lives."""
        return os.path.join(self.path, "lock")

    @property
    def queued(self) -> str:
        """What the attempt waits for; there while it waits."""
        return os.path.join(self.path, "queued.json")

    @property
    def cancel(self) -> str:
        """The order to end the attempt."""
        return os.path.join(self.path, "cancel.json")

    @property
    def cancel_reserve(self) -> str:
        """Space taken at the launch; becomes `cancel.json`, so that a full disk cannot keep an attempt alive."""
        return os.path.join(self.path, "cancel.reserve")

    @property
    def exit_reserve(self) -> str:
        """Space taken at the launch; becomes `exit.json` by rename, so that a full disk cannot lose it."""
        return os.path.join(self.path, "exit.reserve")

    @property
    def wrapper_reserve(self) -> str:
        """The wrapper's own record: at the end it is renamed to this name with `.<rc>` behind it."""
        return os.path.join(self.path, "wrapper.rc")

    @property
    def slurm(self) -> str:
        """There when the attempt is a Slurm job: how its controller is asked, and what it said in the end."""
        return os.path.join(self.path, "slurm.json")

    @property
    def job(self) -> str:
        """What the job has to do, resolved where it was submitted."""
        return os.path.join(self.path, "job.json")

    @property
    def program(self) -> str:
        """The supervisor as a program, for the job's node."""
        return os.path.join(self.path, "job.py")

    @property
    def job_claim(self) -> str:
        """Made by the one job that does the attempt, should Slurm ever start two."""
        return os.path.join(self.path, "job.claim")
