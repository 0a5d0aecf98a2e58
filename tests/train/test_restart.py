"""A run that is killed again and again ends with the very weights of one that is not."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.protocol.files import read_json
from tests.hosting.processes import owned
from tests.train import tiny
from tests.train.test_loop import equal, weights

TOP = Path(__file__).parents[2]


def start(root: Path, **changes: object) -> subprocess.Popen[str]:
    (root / "attempt").mkdir(exist_ok=True)
    argv = [sys.executable, "-m", "runner", "train", *tiny.flags(tiny.config(root, **changes))]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "POINTSMAN_ATTEMPT_DIR": str(root / "attempt")}
    return subprocess.Popen(argv, cwd=TOP, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def steps_done(root: Path) -> int:
    try:
        return sum(1 for line in (root / "attempt/metrics.jsonl").read_text().splitlines() if '"loss"' in line)
    except FileNotFoundError:
        return 0


def kill_after(process: subprocess.Popen[str], root: Path, steps: int, number: int) -> None:
    """Send signal `number` once `steps` more steps were logged, or when it has ended by itself."""
    before = steps_done(root)
    deadline_s = time.monotonic() + 120
    while process.poll() is None and steps_done(root) < before + steps:
        assert time.monotonic() < deadline_s, "no progress"
        time.sleep(0.005)
    process.send_signal(number)
    process.wait(60)


def run_with_kills(root: Path, kills: int, seed: int) -> int:
    """Kill -9 at random places `kills` times, then let it end. Returns how many kills hit a living process."""
    chance = random.Random(seed)
    hit = 0
    for _ in range(kills):
        with owned(process := start(root, checkpoint_every=3, epochs=6.0)):
            kill_after(process, root, chance.randrange(1, 8), signal.SIGKILL)
        hit += process.returncode == -signal.SIGKILL
    with owned(process := start(root, checkpoint_every=3, epochs=6.0)):
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    return hit


@pytest.mark.slow
@pytest.mark.parametrize("kills", [20], ids=str)
def test_kill_nine_many_times(root: Path, tmp_path: Path, kills: int) -> None:
    with owned(undisturbed := start(root, checkpoint_every=3, epochs=6.0)):
        out, _ = undisturbed.communicate(timeout=120)
    assert undisturbed.returncode == 0, out
    wanted, steps = weights(root), read_json(str(root / "train/result.json"))["steps"]
    (root / "train").rename(root / "undisturbed")
    (root / "attempt").rename(root / "attempt0")
    hit = run_with_kills(root, kills, seed=5)
    assert hit >= kills // 2
    assert read_json(str(root / "train/result.json"))["steps"] == steps
    assert equal(wanted, weights(root))


@pytest.mark.slow
def test_sigterm_saves_and_exits_143_with_the_way_on(root: Path) -> None:
    with owned(process := start(root, epochs=500.0)):
        kill_after(process, root, 4, signal.SIGTERM)
        out = process.stdout.read() if process.stdout else ""
    assert process.returncode == 143, out
    status = read_json(str(root / "attempt/status.json"))
    assert status["error"]["kind"] == "Interrupted"
    assert "resumes from" in status["error"]["hint"]
    assert Path(status["error"]["hint"].split()[-1]).is_file()
