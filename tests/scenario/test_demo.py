"""The demo's frame, around quick stages: how it ends, and that nothing is left of it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest
import yaml

from tests.hosting.processes import owned
from tests.scenario.world import CHECKOUT, pipeline

Open = Callable[..., subprocess.Popen[str]]
PATIENCE_S = 60.0


@pytest.fixture
def open_demo(tmp_path: Path) -> Iterator[Open]:
    """`open_demo("--auto", seconds=1.0)` starts a demo; it is ended with the test, if it still runs."""
    opened: list[subprocess.Popen[str]] = []

    def start(*flags: str, seconds: float = 0.3, **stages: dict[str, Any]) -> subprocess.Popen[str]:
        file = tmp_path / "quick.yaml"
        file.write_text(yaml.safe_dump(pipeline(seconds, **stages) | {"host": "demo"}))
        argv = [sys.executable, "-m", "bot", "demo", "--port", "0", "--pipeline", str(file), *flags]
        argv += ["--state", str(tmp_path / "state")]
        opened.append(subprocess.Popen(argv, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return opened[-1]

    yield start
    with owned(*opened):
        for process in opened:
            process.terminate()
            process.wait(PATIENCE_S)


def read_until(stream: TextIO | None, text: str) -> str:
    """What the stream said up to the line that has `text`."""
    assert stream is not None
    said = ""
    for line in stream:
        said += line
        if text in line:
            return said
    raise AssertionError(f"never said {text!r}:\n{said}")


def processes_of(folder: Path) -> list[str]:
    """Every process that knows the demo's folder, from its command line or its environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            told = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            zombie = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if os.fsencode(folder) in told and not zombie:
            found.append(told.replace(b"\0", b" ").decode(errors="replace")[:200])
    return found


def assert_nothing_left(folder: Path) -> None:
    until_s = time.monotonic() + 5
    while (left := processes_of(folder)) and time.monotonic() < until_s:
        time.sleep(0.1)
    assert not left


def test_auto_prints_one_line_and_leaves_nothing(open_demo: Open, tmp_path: Path) -> None:
    demo = open_demo("--auto")
    said, told = demo.communicate(timeout=180)
    assert demo.returncode == 0, told
    (line,) = said.splitlines()
    found = json.loads(line)
    assert [stage["stage"] for stage in found["stages"]] == ["synth", "extract", "vocab", "train", "bench"]
    assert {stage["verdict"] for stage in found["stages"]} == {"proven"}
    assert found["acceptance_length"] == 1.5 and found["tok_s"] == {"baseline": 90.0, "drafted": 93.0}
    assert found["started_once"] and found["seconds"] > 0
    assert_nothing_left(tmp_path / "state")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_also_what_runs_on_the_host(open_demo: Open, tmp_path: Path, number: int) -> None:
    demo = open_demo("--auto", seconds=60)
    read_until(demo.stderr, "(r1-synth-1 running)")
    assert any("stage.py" in told for told in processes_of(tmp_path / "state"))
    demo.send_signal(number)
    demo.communicate(timeout=PATIENCE_S)
    assert demo.returncode == 128 + number
    assert_nothing_left(tmp_path / "state")


@pytest.mark.parametrize("part", ["bot up", "bot.workspace"])
def test_a_part_that_dies_is_named_with_its_log(open_demo: Open, tmp_path: Path, part: str) -> None:
    demo = open_demo("--auto", seconds=60)
    read_until(demo.stderr, "waiting at synth")
    state = str(tmp_path / "state")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != demo.pid:
            try:
                words = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            if part in words and state in words:
                os.kill(int(entry.name), signal.SIGKILL)
    _, told = demo.communicate(timeout=PATIENCE_S)
    name = part.replace(" up", "").replace("bot.", "")
    assert demo.returncode == 1
    assert f"the {name} ended by itself" in told and f"{state}/{name}.log" in told
    assert_nothing_left(tmp_path / "state")


def test_a_failing_stage_ends_auto_with_the_reason_and_the_log(open_demo: Open, tmp_path: Path) -> None:
    demo = open_demo("--auto", extract={"fail_at": 3})
    said, told = demo.communicate(timeout=120)
    assert demo.returncode == 1 and said == ""
    assert "boom" in told and "attempts/r1-extract-1/log.txt" in told
    assert_nothing_left(tmp_path / "state")


def test_without_auto_the_page_opens_with_the_plan(open_demo: Open, tmp_path: Path) -> None:
    demo = open_demo()
    said = read_until(demo.stdout, "The channel: http://127.0.0.1:")
    assert said
    demo.send_signal(signal.SIGINT)
    assert demo.wait(PATIENCE_S) == 0
    assert_nothing_left(tmp_path / "state")
