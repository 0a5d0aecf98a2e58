"""Training steps: ours against SpecForge 0.2.0 and speculators 0.9.0, on the same tensors, taking turns.

A step is teacher, forward, backward, clipping and AdamW. All start from the same weights, and their first losses are
compared before anything is timed. The peers come from PyPI into var/peers (without their dependencies). Peers run
with what they offer for the device: on a CPU their sdpa or eager attention and plain losses (SpecForge's compiled),
on a GPU flex attention and their fused losses.
"""

import argparse
import contextlib
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ops.train_peers import CLIP, DECAY, LR, PEERS, SIZES, Peer, SpecForge, Speculators, World, install_peers
from runner.hf import import_transformers
from runner.train.batches import Pack, read_pack
from runner.train.config import TrainConfig
from runner.train.graphs import Graphs
from runner.train.layout import count_slots
from runner.train.loop import SMALL_HIDDEN
from runner.train.loss import rows_at_once, ttt_loss
from runner.train.measure import Choices, Placed, Target, place
from runner.train.optimizer import Optimizer
from runner.train.teacher import TargetHead


class Ours:
    """What `runner.train.loop` does in a step after the first epoch: the target's choices are known by then."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.model = world.model.to(world.device, world.dtype)
        nowhere = Path()
        config = TrainConfig(target=nowhere, features=nowhere, vocab=nowhere, out=nowhere, lr=LR, clip=CLIP)
        self.optimizer = Optimizer(self.model, config)
        self.head = TargetHead.make(world.head, world.kept.to(world.device))
        self.target = Target(embedding_VH=world.embedding, head=self.head)
        self.choices = Choices(self.head)
        self.pack: Pack = read_pack(world, [0], world.size.ttt, 0, skip_bad=False)  # type: ignore[arg-type]
        self.decay = DECAY ** torch.arange(world.size.ttt, device=world.device)
        on_gpu = world.device.type == "cuda"
        if on_gpu:  # as the reader does
            pinned = {name: getattr(self.pack, name).pin_memory() for name in ("input_ids_N", "aux_NC", "last_RH")}
            self.pack = replace(self.pack, **pinned)
        self.rows = rows_at_once(0, self.model, world.dtype)
        small = on_gpu and world.size.hidden <= SMALL_HIDDEN
        self.graphs = Graphs(self.model, world.size.ttt, self.rows) if small else None

    def place(self) -> Placed:
        return place(self.pack, self.target, self.choices, self.world.device, self.world.dtype)

    def counts(self, placed: Placed) -> Tensor:
        return count_slots(self.pack.layout.place_R, placed.teacher.kept_R, self.world.size.ttt).to(self.world.device)

    def loss(self) -> tuple[Tensor, Tensor]:
        """Total, and the mean of each step."""
        placed, steps = self.place(), self.world.size.ttt
        counts = self.counts(placed)
        states = self.model(placed.aux_NC, placed.embeds_NH, placed.layout, steps)
        total, sums = ttt_loss(self.model, states, placed.teacher, placed.layout, self.decay / counts, self.rows)
        return total, sums.loss / counts

    def step(self) -> None:
        if self.graphs:
            self.optimizer.gradients()
            placed = self.place()
            self.graphs.run(placed, self.decay / self.counts(placed))
        else:
            self.loss()[0].backward()
        self.optimizer.step(LR, keep_buffers=self.graphs is not None)


def expected_of(name: str, ours: Ours) -> Tensor:
    """What a peer's mean loss by step must be, by its own convention, computed from our parts."""
    placed, size = ours.place(), ours.world.size
    counts = count_slots(ours.pack.layout.place_R, placed.teacher.kept_R, size.ttt).to(ours.world.device)
    if name == "specforge":
        return ours.loss()[1] * counts / size.length
    teacher = placed.teacher
    logits = placed.pack.last_RH.to(ours.world.device) @ ours.head.draft_DH.t()
    everything = type(teacher)(
        kept_R=torch.ones_like(teacher.kept_R), place_T=placed.layout.place_R, slot_T=placed.layout.slot_R,
        best_T=logits.argmax(-1), last_TH=placed.pack.last_RH.to(ours.world.device), head=ours.head,
    )  # fmt: skip
    layout = placed.layout
    states = ours.model(placed.aux_NC, placed.embeds_NH, layout, size.ttt)
    ones = torch.ones(size.ttt, device=ours.world.device)
    sums = ttt_loss(ours.model, states, everything, layout, ones, 2048)[1]
    entropy_R = torch.special.entr(everything.probabilities()).sum(-1)
    entropies = torch.stack([entropy_R[layout.place_R > k].sum() for k in range(size.ttt)])
    return (sums.loss - entropies) / sums.kept


def measure(options: argparse.Namespace) -> dict[str, Any]:
    device = torch.device(options.device)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    world = World(SIZES[options.size], options.supervised, device, dtype)
    makers: dict[str, Callable[[World], Ours | Peer]] = {
        "ours": Ours,
        "specforge": SpecForge,
        "speculators": Speculators,
    }
    wanted = ["ours", *(name for name in makers if name in options.peers.split(","))]
    import_transformers()
    install_peers()
    sides, found = {}, {}
    for name in wanted:
        with _said(name, found):
            found[name] = {}
            sides[name] = makers[name](world)
            found[name] = {"loss_difference": _difference(name, sides[name], sides["ours"], dtype)}
    for name in list(sides):
        with _said(name, found):
            for _ in range(options.warmup):
                sides[name].step()
        if "error" in found[name]:
            del sides[name]
    times = _take_turns(sides, found, options.rounds, device)
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        found[name] |= {
            "ms": 1e3 * middle, "ms_min": 1e3 * min(seconds), "ms_max": 1e3 * max(seconds),
            "tokens_s": world.size.length / middle,
        }  # fmt: skip
    best = min((found[name]["ms"] for name in times if name != "ours"), default=None)
    return {
        "size": options.size, "supervised": options.supervised, "device": str(device), "dtype": str(dtype)[6:],
        "threads": torch.get_num_threads(), "rounds": options.rounds, "sides": found,
        "share_of_best_peer": found["ours"]["ms"] / best if best else None,
    }  # fmt: skip


def _difference(name: str, side: Ours | Peer, ours: Any, dtype: torch.dtype) -> float | None:
    """Largest difference of a mean step loss from what our parts say by that side's convention."""
    if name == "ours":
        return None
    with torch.no_grad():
        difference = (side.loss()[1].float() - expected_of(name, ours)).abs().max()
    tolerance = 1e-4 if dtype == torch.float32 else 0.05
    if difference > tolerance:
        raise SystemExit(f"{name}: its losses differ from ours by {difference:.2e} at equal weights")
    return float(difference)


def _held_gib(side: Any) -> float:
    """Weights, masters and moments of a side."""
    adam = side.optimizer.adam if isinstance(side, Ours) else side.adam
    masters = side.optimizer.masters if isinstance(side, Ours) else side.masters
    held = [*side.model.parameters(), *masters]
    held += [value for state in adam.state.values() for value in state.values() if torch.is_tensor(value)]
    return sum(size for _, size in {(t.data_ptr(), t.numel() * t.element_size()) for t in held}) / 2**30


def _take_turns(
    sides: dict[str, Any], found: dict[str, Any], rounds: int, device: torch.device
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            if device.type == "cuda":
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
                before = torch.cuda.memory_allocated()
            clock = time.process_time if device.type == "cpu" else time.perf_counter  # a CPU has other users
            started_s = clock()
            side.step()
            if device.type == "cuda":
                torch.cuda.synchronize()
                found[name]["step_gib"] = (torch.cuda.max_memory_allocated() - before) / 2**30
                found[name]["held_gib"] = _held_gib(side)
            times[name].append(clock() - started_s)
    return times


@contextlib.contextmanager
def _said(name: str, found: dict[str, Any]) -> Iterator[None]:
    """A peer that cannot run here is reported with its reason, not left out."""
    try:
        yield
    except (ImportError, RuntimeError, AssertionError) as error:
        if name == "ours":
            raise
        found[name] = {"error": f"{type(error).__name__}: {str(error)[:300]}"}


def show(found: dict[str, Any]) -> None:
    print(f"{found['size']} on {found['device']}, {found['threads']} threads, {found['supervised']:.0%} supervised")
    for name, side in found["sides"].items():
        if "error" in side:
            print(f"  {name:<12} {side['error']}")
            continue
        away = f", losses within {side['loss_difference']:.1e}" if side["loss_difference"] is not None else ""
        memory = (
            f", {side['held_gib']:.1f} GiB held, {side['step_gib']:.1f} more in a step" if "step_gib" in side else ""
        )
        print(f"  {name:<12} {side['ms']:8.1f} ms ({side['ms_min']:.1f} to {side['ms_max']:.1f}), "
              f"{side['tokens_s']:8.0f} tok/s{memory}{away}")  # fmt: skip
    if found["share_of_best_peer"]:
        print(f"  ours takes {found['share_of_best_peer']:.2f} of the best peer's time")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("--size", choices=SIZES, default="small", help="shape of the drafter (default %(default)s)")
    parser.add_argument(
        "--supervised", type=float, default=1.0, help="share of tokens supervised (default %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=20, help="steps of each side (default %(default)s)")
    parser.add_argument("--warmup", type=int, default=3, help="steps before them (default %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default %(default)s)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, comma-separated (default %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warnings.simplefilter("ignore")
    found = measure(options)
    print(json.dumps(found)) if options.json else show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
