"""A deployment into a real serving process: the new drafter is served, a worse one is taken back."""

import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runner.deploy import release
from runner.deploy.options import DeployOptions
from runner.serve import ServerSettings, launch
from runner.serve.settings import DraftSettings
from runner.verify.deploy import check_deploy
from tests.hosting.processes import owned
from tests.sglang.benched import LAYER_IDS, STEPS
from tests.sglang.made_drafter import write_repeating_drafter

pytestmark = pytest.mark.sglang


class Manager:
    """A service manager: one serving process at a fixed port, started anew when the request file appears."""

    def __init__(self, root: Path, target: Path, serving: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        draft = DraftSettings(folder=serving / "current", steps=STEPS)
        self.settings = ServerSettings(
            model=target, dtype="float32", threads=1, context_length=256, max_total_tokens=1024,
            prefix_cache=True, draft=draft, extra=("--port", str(port)),
        )  # fmt: skip
        self.url, self.request, self.root = f"http://127.0.0.1:{port}", root / "restart", root
        self.starts = 0

    def serve_while(self, process: "subprocess.Popen[bytes]") -> int:
        """Its exit code. The server is started by this thread, which is the one that must outlive it."""
        while process.poll() is None:
            self.starts += 1
            self.request.unlink(missing_ok=True)
            with launch(self.settings, self.root / f"server{self.starts}.log"):
                while process.poll() is None and not self.request.exists():
                    time.sleep(0.1)
        return process.returncode


def deploy(manager: Manager, options: DeployOptions) -> tuple[int, str]:
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in vars(options).items()]
    log = manager.root / "deploy.log"
    with log.open("wb") as out:
        argv = [sys.executable, "-m", "runner", "deploy", *flags]
        process = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, env={**os.environ})
        with owned(process):
            code = manager.serve_while(process)
    return code, log.read_text()


def test_a_drafter_goes_into_service_and_a_worse_one_is_taken_back(finished, models, tmp_path):
    target, draft, _ = models
    serving = tmp_path / "serving"
    manager = Manager(tmp_path, target, serving)
    options = DeployOptions(
        draft=draft,
        bench=finished.out,
        serving=serving,
        url=manager.url,
        restart=f"touch {manager.request}",
        out=tmp_path / "out",
        min_speedup=0.0,  # a drafter of the target's own size makes nothing faster
        num_prompts=3,
        share=0.99,
        ready_timeout_s=240.0,
    )
    release.publish(draft, serving)
    release.switch(serving, release.release_name(draft))
    code, said = deploy(manager, options)
    assert code == 0, said
    assert {check.name: check.ok for check in check_deploy(options.out)}.pop("acceptance") is True
    assert manager.starts == 2

    worse = tmp_path / "worse"
    write_repeating_drafter(worse, target, [layer - 1 for layer in LAYER_IDS], noise=0.5)
    benched = tmp_path / "benched"  # as if it had been benchmarked as well as the other
    benched.mkdir()
    for name in ("result.json", "requests.jsonl", "prompts.jsonl"):
        (benched / name).write_bytes((finished.out / name).read_bytes())
    digests = [release.file_digest(folder / release.WEIGHTS) for folder in (draft, worse)]
    result = benched / "result.json"
    result.write_text(result.read_text().replace(*digests))
    code, said = deploy(manager, replace(options, draft=worse, bench=benched, out=tmp_path / "out2"))
    assert code == 1 and "acceptance in service is" in said and "is served again" in said, said
    assert release.served(serving) == release.release_name(draft)
