"""Training on several ranks against one, by torchrun: losses, rate, memory, a rank without data, SIGTERM and resume.

Where there are GPUs: all of them, NCCL, Kimi's shape in bf16. Elsewhere two gloo ranks on the CPU at a small shape in
fp32. Every run is `python -m runner train --shard full` on the same random features; the rate is that of the second
pass, when the target's choices are known. A run's figures are told on stderr as it ends. At Kimi's shape a run leaves
a checkpoint of 13 GB: give a fast --out.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ops.train_peers import SIZES
from ops.train_world import build, write_rows
from runner.protocol.files import read_json
from runner.protocol.times import epoch_s

TOP = Path(__file__).parents[1]
CLOSE = {"float32": 1e-5, "bfloat16": 1e-2}  # largest difference of a loss, as a share of it


@dataclass(frozen=True)
class Run:
    """One training run: its folder, ranks, and packs of one step over all ranks."""

    bench: "Bench"
    name: str
    ranks: int
    packs: int

    @property
    def folder(self) -> Path:
        return self.bench.root / self.name

    def start(self) -> subprocess.Popen[str]:
        (self.folder / "attempt").mkdir(parents=True)
        bench = self.bench
        flags = {
            "target": bench.root / "target", "vocab": bench.root / "vocab", "features": bench.features(self.packs),
            "out": self.folder / "train", "shard": bench.args.shard, "dtype": bench.dtype, "device": bench.device,
            "max-steps": bench.args.steps, "epochs": 2, "packs-per-step": self.packs,
            "pack-tokens": bench.size.length, "held-out": 0, "log-every": 1, "check-samples": "size",
            "optimizer": bench.args.optimizer, "threads": 0 if bench.device == "cuda" else 1,
        }  # fmt: skip
        argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={self.ranks}"]
        argv += ["-m", "runner", "train", "--no-check-layers", *(f"--{name}={value}" for name, value in flags.items())]
        env = {**os.environ, "POINTSMAN_ATTEMPT_DIR": str(self.folder / "attempt"), "OMP_NUM_THREADS": "1"}
        env["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] = "300"  # a checkpoint may take longer than torchrun's 30 s
        with (self.folder / "log.txt").open("w") as log:
            return subprocess.Popen(argv, cwd=TOP, env=env, stdout=log, stderr=log, text=True)

    def finish(self, process: subprocess.Popen[str]) -> "Run":
        if process.wait(self.bench.args.deadline) != 0:
            raise SystemExit(f"{self.name} failed:\n{(self.folder / 'log.txt').read_text()[-3000:]}")
        self.tell(losses=list(self.losses().values()), tokens_s=self.tokens_s())
        return self

    def take_up(self, other: "Run") -> "Run":
        """Begin from the other's checkpoints."""
        self.folder.mkdir()
        shutil.copytree(other.folder / "train", self.folder / "train", copy_function=os.link)
        return self

    def tell(self, **figures: Any) -> None:
        line = {"run": self.name, "ranks": self.ranks, "packs": self.packs, **figures}
        print(json.dumps(line), file=sys.stderr, flush=True)

    def lines(self) -> list[dict[str, Any]]:
        try:
            found = (self.folder / "attempt/metrics.jsonl").read_text().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in found if line.endswith("\n")]

    def losses(self) -> dict[int, float]:
        return {line["step"]: line["loss"] for line in self.lines()}

    def tokens_s(self) -> float:
        """Of the second pass, from its first told step to the one before its last: that one waits for nothing else."""
        times = {line["step"]: epoch_s(line["at"]) for line in self.lines()}
        first, last = self.bench.args.steps // 2 + 1, self.bench.args.steps - 1
        if first not in times:  # resumed later than that
            return 0.0
        return (last - first) * self.packs * self.bench.size.length / (times[last] - times[first])

    def result(self, name: str) -> Any:
        return read_json(str(self.folder / "train/result.json"))[name]

    def drop(self) -> None:
        """Its weights, which take room."""
        for folder in ("checkpoints", "draft"):
            shutil.rmtree(self.folder / "train" / folder, ignore_errors=True)


class Bench:
    """What the runs share."""

    def __init__(self, args: argparse.Namespace, root: Path) -> None:
        self.args, self.root, self.size = args, root, SIZES[args.size]
        self.device = args.device
        self.dtype = "bfloat16" if args.device == "cuda" else "float32"

    def features(self, packs: int) -> Path:
        """Two passes over them are the steps asked for: a sample is a pack."""
        folder = self.root / f"features-{packs}"
        return folder if folder.exists() else write_rows(
            self.root, folder.name, self.size, packs * self.args.steps // 2, self.dtype
        )  # fmt: skip

    def run(self, name: str, ranks: int, packs: int, after: Run | None = None) -> Run:
        run = Run(self, name, ranks, packs)
        if after:
            run.take_up(after)
        return run.finish(run.start())

    def stopped(self, ranks: int) -> Run:
        """SIGTERM to the last rank after a quarter of the steps."""
        run = Run(self, "stopped", ranks, ranks)
        process = run.start()
        wait_for(lambda: len(run.lines()) >= self.args.steps // 4, process, self.args.deadline)
        os.kill(rank_process(process.pid, ranks - 1), signal.SIGTERM)
        process.wait(self.args.deadline)
        kind = (read_json(str(run.folder / "attempt/status.json"))["error"] or {}).get("kind")
        saved = sorted(path.name for path in (run.folder / "train/checkpoints").glob("step-*"))
        run.tell(told=kind, saved=saved)
        if kind != "Interrupted" or not saved:
            raise SystemExit(f"stopped: no checkpoint after SIGTERM:\n{(run.folder / 'log.txt').read_text()[-3000:]}")
        return run

    def measure(self) -> dict[str, Any]:
        ranks = self.args.ranks
        alone, together = self.run("alone", 1, ranks), self.run("together", ranks, ranks)
        alone.drop(), together.drop()
        single, idle = self.run("single", 1, 1), self.run("idle", ranks, 1)
        single.drop(), idle.drop()
        stopped = self.stopped(ranks)
        again, on_one = (self.run(f"resumed on {size}", size, ranks, after=stopped) for size in (ranks, 1))
        difference = {
            "one": apart(together, alone), "idle": apart(idle, single),
            "resumed": apart(again, together), "resumed_on_one": apart(on_one, together),
        }  # fmt: skip
        ratio = together.tokens_s() / single.tokens_s()
        return {
            "size": self.args.size, "ranks": ranks, "shard": self.args.shard, "optimizer": self.args.optimizer,
            "device": torch.cuda.get_device_name() if self.device == "cuda" else "cpu", "dtype": self.dtype,
            "steps": self.args.steps, "losses": list(together.losses().values()),
            "losses_of_one": list(alone.losses().values()), "loss_difference": difference,
            "losses_agree": all(value <= CLOSE[self.dtype] for value in difference.values()),
            "resumed_identical": difference["resumed"] == 0.0, "stopped_after": min(again.losses()) - 1,
            "tokens_s": round(together.tokens_s(), 1), "tokens_s_of_one": round(single.tokens_s(), 1),
            "ratio": round(ratio, 3), "idle_ranks": ranks - 1,
            "peak_bytes": together.result("peak_bytes"), "peak_bytes_of_one": single.result("peak_bytes"),
            "held_bytes": together.result("held_bytes"), "held_bytes_of_one": single.result("held_bytes"),
        }  # fmt: skip


def apart(run: Run, other: Run) -> float:
    """The largest difference of a step's loss, as a share of it, over the steps that the first run took."""
    mine, theirs = run.losses(), other.losses()
    return max(abs(mine[step] - theirs[step]) / abs(theirs[step]) for step in mine)


def wait_for(done: Callable[[], bool], process: subprocess.Popen[str], deadline: float) -> None:
    until_s = time.monotonic() + deadline
    while not done():
        if process.poll() is not None or time.monotonic() > until_s:
            raise SystemExit("the run that was to be stopped ended by itself, or never began")
        time.sleep(0.02)


def rank_process(torchrun: int, rank: int) -> int:
    """The process of a rank among torchrun's children."""
    for task in Path(f"/proc/{torchrun}/task").iterdir():
        for child in (task / "children").read_text().split():
            if f"RANK={rank}".encode() in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
                return int(child)
    raise SystemExit(f"no rank {rank} under torchrun")


def show(found: dict[str, Any]) -> None:
    gib = lambda values: ", ".join(f"{value / 2**30:.2f}" for value in values)  # noqa: E731
    print(f"{found['size']}, {found['ranks']} ranks, --shard {found['shard']}, {found['dtype']} on {found['device']}")
    for name, value in found["loss_difference"].items():
        print(f"  losses against {name:<15} within {value:.1e}")
    print(f"  {found['tokens_s']:.0f} tok/s against {found['tokens_s_of_one']:.0f} on one: {found['ratio']:.2f} times")
    print(f"  masters and state {gib(found['held_bytes'])} GiB a rank, on one {gib(found['held_bytes_of_one'])}")
    print(f"  peak {gib(found['peak_bytes'])} GiB a rank, on one {gib(found['peak_bytes_of_one'])}")


def main() -> int:
    on_gpu = torch.cuda.device_count()
    parser = argparse.ArgumentParser(prog="ops/bench ranks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("--ranks", type=int, default=on_gpu or 2, help="default: every GPU, or two on the CPU")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if on_gpu else "cpu")
    parser.add_argument("--size", choices=SIZES, help="default: kimi on GPUs, small on the CPU")
    parser.add_argument("--shard", choices=("none", "full"), default="full")
    parser.add_argument("--optimizer", choices=("adamw", "muon"), default="adamw")
    parser.add_argument("--steps", type=int, default=20, help="even; two passes (default %(default)s)")
    parser.add_argument("--out", type=Path, help="where a folder for the runs is made and removed again")
    parser.add_argument("--deadline", type=float, default=600.0, help="seconds that a run may take")
    args = parser.parse_args()
    args.size = args.size or ("kimi" if args.device == "cuda" else "small")
    root = Path(tempfile.mkdtemp(prefix="pointsman-ranks-", dir=args.out))
    try:  # in a process of its own: this one should hold nothing on a GPU
        maker = multiprocessing.get_context("spawn").Process(
            target=build, args=(root, SIZES[args.size], args.device == "cuda")
        )
        maker.start()
        maker.join()
        if maker.exitcode:
            return 1
        found = Bench(args, root).measure()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(json.dumps(found)) if args.json else show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
