"""Two ranks on gloo: the same weights as one alone, also when a rank has nothing to do."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from runner.train.ranks import Ranks
from runner.train.run import train
from tests.hosting.processes import owned
from tests.train import tiny
from tests.train.test_loop import equal, weights

TOP = Path(__file__).parents[2]


def start_on(root: Path, size: int, **changes: object) -> list[subprocess.Popen[str]]:
    return start_ranks([sys.executable, "-m", "runner", "train", *tiny.flags(tiny.config(root, **changes))], size)


def start_ranks(argv: list[str], size: int) -> list[subprocess.Popen[str]]:
    """One process a rank, as torchrun would start them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = []
    for rank in range(size):
        env = {
            **os.environ, "OMP_NUM_THREADS": "1", "WORLD_SIZE": str(size), "RANK": str(rank), "LOCAL_RANK": str(rank),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        }  # fmt: skip
        ranks.append(
            subprocess.Popen(argv, cwd=TOP, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        )
    return ranks


def run_on(root: Path, size: int, **changes: object) -> None:
    ranks = start_on(root, size, **changes)
    with owned(*ranks):
        outs = [process.communicate(timeout=120)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0] * size, outs


def stop_one_rank(root: Path, **changes: object) -> None:
    """SIGTERM to the second of two ranks once there is a checkpoint; both save and end."""
    ranks = start_on(root, 2, **changes)
    with owned(*ranks):
        deadline_s = time.monotonic() + 120
        while not list((root / "train/checkpoints").glob("step-*")):
            assert all(process.poll() is None for process in ranks) and time.monotonic() < deadline_s
            time.sleep(0.02)
        ranks[1].send_signal(signal.SIGTERM)
        outs = [process.communicate(timeout=120)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [143, 143], outs


def test_packs_are_shared_so_that_every_rank_takes_part() -> None:
    packs = [[1], [2], [3]]
    shares = [Ranks(rank, 2, torch.device("cpu")).share(packs) for rank in (0, 1)]
    assert shares == [[[1], [3]], [[2], []]]
    assert [Ranks(rank, 4, torch.device("cpu")).share(packs) for rank in (2, 3)] == [[[3]], [[]]]


@pytest.mark.slow
def test_two_ranks_agree_with_one_and_an_empty_pack_hangs_nobody(root: Path) -> None:
    """Three packs a step: the second rank's second pack is always empty."""
    settings = {"packs_per_step": 3, "max_steps": 6}
    train(tiny.config(root, **settings))
    alone = weights(root)
    (root / "train").rename(root / "alone")
    run_on(root, 2, **settings)
    together = weights(root)
    for name, tensor in alone.items():
        if name.startswith("model."):
            assert torch.allclose(tensor, together[name], rtol=1e-4, atol=1e-5), name


@pytest.mark.slow
def test_a_signal_to_one_rank_saves_and_ends_both_and_the_rest_is_the_same(root: Path) -> None:
    settings = {"packs_per_step": 2, "epochs": 8.0, "checkpoint_every": 1}
    stop_one_rank(root, **settings)
    run_on(root, 2, **settings)
    resumed = weights(root)
    (root / "train").rename(root / "interrupted")
    run_on(root, 2, **settings)
    assert equal(resumed, weights(root))


def test_a_step_with_nothing_to_learn_still_sums_gradients(root: Path) -> None:
    from tests.train.test_loop import make_loop

    loop = make_loop(root)
    taken = loop.take_step([], [])
    assert float(taken.norm) == 0.0 and taken.sums.sum() == 0


TWO = """
import os, sys, time
from pathlib import Path
from runner.protocol.errors import Interrupted
from runner.protocol.status import StatusWriter
from runner.train.features import open_features
from runner.train.loop import Loop
from runner.train.ranks import Ranks
from runner.train.setup import prepare
from tests.train import tiny

ranks = Ranks.join("cpu")
shard = sys.argv[2] if len(sys.argv) > 2 else "none"
config = tiny.config(Path(sys.argv[1]), packs_per_step=2, time_budget_s=100.0, epochs=50.0, shard=shard)
source, captured = open_features(config)
loop = Loop(prepare(config, source, len(captured.indices), ranks), StatusWriter(None))
"""
CLOCKS = """
loop.trained_s = lambda: 10.0 * (1 + ranks.rank)  # of one started later than the other
reader = loop.session.reader.packs([[0], [1]])
print("lr", loop.take_step([next(reader)], [[0]]).lr)
ranks.leave()
"""
SAVING = """
save = loop.session.checkpoints.save
loop.session.checkpoints.save = lambda *given: (time.sleep(1), save(*given))
loop.stopped_by = "SIGTERM"
try:
    loop.run()
except Interrupted:
    print("saved", loop.session.checkpoints.steps())
ranks.leave()
"""
WATCH = """
import atexit
from pathlib import Path

def look():
    names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    print("threads", [name for name in names if "gloo" in name])

atexit.register(look)
"""
LEAVING = """
loop.total = 2
loop.run()
ranks.leave()
del loop
"""


@pytest.mark.slow
@pytest.mark.parametrize("shard", ["none", "full"])
def test_nothing_of_the_group_is_left_when_a_rank_ends(root: Path, shard: str) -> None:
    """A thread that lives on when the interpreter ends aborts it now and then, after all was done."""
    ranks = start_ranks([sys.executable, "-c", WATCH + TWO + LEAVING, str(root), shard], 2)
    with owned(*ranks):
        outs = [process.communicate(timeout=120)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], outs
    assert all("threads []" in out for out in outs), outs


@pytest.mark.slow
@pytest.mark.parametrize(("then", "word"), [(CLOCKS, "lr"), (SAVING, "saved")], ids=["clocks", "saving"])
def test_ranks_agree(root: Path, then: str, word: str) -> None:
    """On the learning rate although their clocks differ, or weights would drift apart; and nobody ends before the
    first has saved: torchrun would kill it soon after."""
    ranks = start_ranks([sys.executable, "-c", TWO + then, str(root)], 2)
    with owned(*ranks):
        outs = [process.communicate(timeout=120)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], outs
    told = [[line for line in out.splitlines() if line.startswith(word)] for out in outs]
    assert told[0] == told[1] and told[0] and told[0] != ["saved []"]
