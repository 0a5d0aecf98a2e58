"""`python -m runner bench` as an attempt would run it, on a target and a drafter that tests make."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from runner.bench import files
from runner.protocol.files import read_json

LAYER_IDS, INDICES = [1, 3, 6], [2, 4, 7]
STEPS, TOKENS, STOP = 3, 24, 2


class Bench:
    """A context manager: nothing of it outlives the block."""

    def __init__(self, root: Path, target: Path, draft: Path, prompts: Path, *flags: str):
        self.out, self.attempt = root / "out", root / "attempt"
        self.attempt.mkdir(parents=True)
        argv = [sys.executable, "-m", "runner", "bench", "--target", str(target), "--draft", str(draft)]
        argv += ["--prompts", str(prompts), "--out", str(self.out), "--steps", str(STEPS), "--threads", "1", *flags]
        env = {**os.environ, "POINTSMAN_ATTEMPT_DIR": str(self.attempt)}
        with (root / "log.txt").open("wb") as log:
            self.process = psutil.Popen(argv, env=env, stdout=log, stderr=subprocess.STDOUT)
        self.log = root / "log.txt"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in processes_of(self.process):
            process.kill()
        self.process.wait()

    def finish(self, timeout_s=300.0):
        return self.process.wait(timeout_s)

    @property
    def result(self):
        return read_json(str(self.out / files.RESULT))

    @property
    def status(self):
        return read_json(str(self.attempt / "status.json"))

    def wait_for_answers(self):
        """Until both servers are up and the first answers came. Returns all processes of it by then."""
        until_s = time.monotonic() + 240
        while time.monotonic() < until_s:
            assert self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE, self.log.read_text()
            if (self.attempt / "status.json").exists() and (self.status["progress"] or {}).get("done", 0) >= 2:
                return processes_of(self.process)[:-1]
            time.sleep(0.1)
        raise AssertionError("no answers:\n" + self.log.read_text()[-2000:])


def processes_of(process):
    """A process and all that came of it, as far as they live."""
    try:
        return [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        return []


def living(processes):
    _, alive = psutil.wait_procs(processes, timeout=10)
    return alive
