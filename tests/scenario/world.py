"""A whole small world: the embedded workspace, the real bot as a process, a host on this machine, quick stages."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import yaml

from bot.adapters.store import Store
from bot.cli import wiring
from bot.config import load_config
from bot.core.model import Phase
from bot.workspace import APP_TOKEN, BOT_TOKEN, OPERATOR, RUNS, ControlClient
from tests.hosting.processes import STACKS, end

CHECKOUT = Path(__file__).resolve().parents[2]
STAGE = CHECKOUT / "tests/scenario/stage.py"
T = TypeVar("T")


def pipeline(seconds: float = 0.3, **changes: dict[str, Any]) -> dict[str, Any]:
    """synth, extract, vocab, train, bench with gates at the plan, after extract and after train."""

    def stage(name: str, gate: bool = False, aliases: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
        extra = [
            str(part) for pair in changes.get(name, {}).items() for part in (f"--{pair[0].replace('_', '-')}", pair[1])
        ]
        script = ["{python}", str(STAGE)]
        about = ["--stage", name, "--out", "{out}", "--total", "10"]
        body = {
            "id": name,
            "title": (aliases or (name,))[0],
            "aliases": list(aliases),
            "command": [*script, "work", *about, "--seconds", str(seconds), *extra],
            "verify": [*script, "verify", *about, "--seconds", "0"],
        }
        return body | ({"gate": {}} if gate else {}) | more

    lr = {"type": "float", "default": 1e-4, "low": 1e-6, "high": 1e-2, "chat": True}
    steps = {"type": "int", "default": 3, "low": 1, "high": 8, "chat": True}
    train = stage("train", aliases=("training",), params={"lr": lr})
    train["command"] += ["--lr", "{param:lr}"]
    bench = stage("bench", gate=True, aliases=("benchmark",), params={"steps": steps}, own_out=True)
    bench["command"] += ["--steps", "{param:steps}"]
    return {
        "version": 1,
        "name": "quick",
        "title": "quick run",
        "host": "here",
        "stages": [
            stage("synth", gate=True),
            stage("extract", aliases=("extraction",)),
            stage("vocab", gate=True),
            train,
            bench,
        ],
    }


class World:
    """Start and stop the bot, speak as people, look at what is shown and at what was started."""

    def __init__(self, folder: Path, control: ControlClient, stages: dict[str, Any], **config: Any) -> None:
        self.folder, self.control = folder, control
        self.root = folder / "host"
        (folder / "quick.yaml").write_text(yaml.safe_dump(stages))
        host = {"kind": "local", "root": str(self.root), "python": sys.executable, "poll_s": 0.1}
        body = {
            "version": 1,
            "database": f"sqlite:///{folder}/bot.db",
            "slack": {"base_url": control.api_url, "channel": RUNS},
            "hosts": {"here": host},
            "pipelines": ["quick.yaml"],
            "undo_s": 0.2,
            "redraw_s": 1,
        } | config
        self.config = folder / "pointsman.yaml"
        self.config.write_text(yaml.safe_dump(body))
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / "bot.log"

    def environment(self) -> dict[str, str]:
        return os.environ | STACKS | {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}

    def up(self, within_s: float = 30.0) -> None:
        self.start()
        self.until(lambda: self.control.look("counters")["connections"] or None, "the bot connects", within_s)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "bot", "up", "--config", str(self.config)],
                cwd=CHECKOUT,
                env=self.environment(),
                stdout=log,
                stderr=log,
            )

    def down(self, number: int = signal.SIGTERM) -> None:
        process, self.process = self.process, None
        if process is not None:
            end(process, self.log, number)

    def bot(self, *words: str) -> str:
        """Run a verb of the command line; returns what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "bot", words[0], "--config", str(self.config), *words[1:]],
            cwd=CHECKOUT,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The bot's database, as it is written meanwhile."""
        store = wiring.open_database(load_config(self.config))
        try:
            yield store
        finally:
            store.close()

    def phase(self, run_id: str = "r1") -> str:
        with self.store() as store:
            return next((run.phase.value for run in store.all_runs() if run.id == run_id), "")

    def until(self, look: Callable[[], T | None], what: str, timeout_s: float = 30.0) -> T:
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if (found := look()) is not None:
                return found
            if self.process is not None and self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"{what}: not within {timeout_s} s\n{self.told()}\n{self.log.read_text()[-4000:]}")

    def until_phase(self, *phases: str, run_id: str = "r1", timeout_s: float = 40.0) -> str:
        return self.until(
            lambda: phase if (phase := self.phase(run_id)) in phases else None, f"{run_id} is {phases}", timeout_s
        )

    def until_gate(self, after: str | None, timeout_s: float = 60.0) -> None:
        """The gate after this stage is open; after None, the plan's."""
        with self.store() as store:

            def look() -> bool | None:
                run = next(iter(store.all_runs()), None)
                return (run is not None and run.phase is Phase.WAITING and run.gate and run.gate.after == after) or None

            self.until(look, f"the gate after {after}", timeout_s)

    def say(self, text: str, thread: str | None = None, user: str = OPERATOR) -> str:
        more = {"thread_ts": thread} if thread else {}
        return str(self.control.post(text, user=user, **more)["ts"])

    def head(self, run_id: str = "r1") -> str:
        """The ts of the run's status card."""

        def look() -> str | None:
            return next((m["ts"] for m in self.channel() if f"*{run_id}*" in json.dumps(m)), None)

        return self.until(look, f"{run_id} has a card")

    def channel(self) -> list[dict[str, Any]]:
        return list(self.control.look("messages")["messages"])

    def thread(self, run_id: str = "r1") -> list[dict[str, Any]]:
        return list(self.control.look("thread", channel=RUNS, ts=self.head(run_id))["messages"])

    def told(self, run_id: str = "r1") -> str:
        """Everything the thread shows, as one text."""
        heads = [m["ts"] for m in self.channel() if f"*{run_id}*" in json.dumps(m)]
        found = list(self.control.look("thread", channel=RUNS, ts=heads[0])["messages"]) if heads else self.channel()
        return "\n".join(json.dumps(m, ensure_ascii=False) for m in found)

    def until_told(self, text: str, run_id: str = "r1", timeout_s: float = 30.0) -> str:
        return self.until(lambda: told if text in (told := self.told(run_id)) else None, f"told {text!r}", timeout_s)

    def starts(self) -> dict[str, list[str]]:
        """The tokens of every process that a stage was started as, by stage."""
        found: dict[str, list[str]] = {}
        for file in self.root.glob("runs/*/**/starts"):
            stage = file.relative_to(self.root / "runs").parts[1]
            found.setdefault(stage, []).extend(file.read_text().split())
        return found
