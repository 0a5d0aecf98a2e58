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
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from runner.export import to_served
from runner.hf import import_transformers
from runner.train.batches import Pack, Sample, read_pack
from runner.train.config import TrainConfig
from runner.train.graphs import Graphs
from runner.train.layout import count_slots
from runner.train.loop import SMALL_HIDDEN
from runner.train.loss import rows_at_once, ttt_loss
from runner.train.measure import Choices, Placed, Target, place
from runner.train.model import DraftModel
from runner.train.optimizer import Optimizer
from runner.train.shape import DraftShape, Rope
from runner.train.teacher import TargetHead
from runner.vocab import VocabMap

PEERS = {"specforge": ("specforge==0.2.0",), "speculators": ("speculators==0.9.0", "hs-connectors==0.9.0")}
FOLDER = Path("var/peers")
DECAY, LR, CLIP = 0.8, 1e-4, 0.5


@dataclass(frozen=True)
class Size:
    """One setting of everything."""

    hidden: int
    inner: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    draft_vocab: int
    length: int
    ttt: int

    @property
    def shape(self) -> DraftShape:
        return DraftShape(
            hidden_size=self.hidden, intermediate_size=self.inner, num_heads=self.heads, num_kv_heads=self.kv_heads,
            head_dim=self.head_dim, vocab_size=self.vocab, draft_vocab_size=self.draft_vocab, rms_norm_eps=1e-5,
            rope=Rope(theta=10000.0, scaling={}, max_positions=max(4096, self.length + 16)),
        )  # fmt: skip


SIZES = {
    "small": Size(256, 512, 8, 4, 32, 4096, 1024, 256, 7),
    "smollm2": Size(576, 1536, 9, 3, 64, 49152, 16384, 2048, 7),
    "kimi": Size(7168, 12288, 64, 64, 128, 163840, 32000, 2048, 7),
}


class World:
    """The tensors that all train on: one conversation, its first quarter a prompt unless all is supervised."""

    ids = ("bench",)

    def __init__(self, size: Size, supervised: float, device: torch.device, dtype: torch.dtype) -> None:
        self.size, self.device, self.dtype = size, device, dtype
        gen = torch.Generator(device).manual_seed(0)
        rand = lambda *shape: torch.randn(*shape, generator=gen, device=device)  # noqa: E731
        ints = lambda below, *shape: torch.randint(below, shape, generator=gen, device=device)  # noqa: E731
        self.input_ids = ints(size.vocab, size.length).cpu()
        self.mask = torch.zeros(size.length, dtype=torch.uint8)
        self.mask[round((1 - supervised) * size.length) :] = 1
        self.kept = torch.randperm(size.vocab, generator=gen, device=device)[: size.draft_vocab].sort().values.cpu()
        self.embedding = rand(size.vocab, size.hidden).to(dtype)
        self.head = rand(size.vocab, size.hidden).to(dtype)
        self.aux = rand(size.length, 3 * size.hidden).to(dtype).cpu()
        # states that point at a token of the draft vocabulary nine times in ten, as real ones do
        inside = torch.rand(size.length, generator=gen, device=device) < 0.9
        known = self.kept.to(device)[ints(size.draft_vocab, size.length)]
        aim = torch.where(inside, known, ints(size.vocab, size.length))
        noise = 0.5 * rand(size.length, size.hidden)
        self.last = (self.head[aim].float() * 4 / size.hidden**0.5 + noise).to(dtype).cpu()
        with device:
            self.model = DraftModel(size.shape)
        self.model.reset(gen)
        self.vocab = VocabMap(self.kept.numpy(), size.vocab)
        served = to_served(dict(self.model.named_parameters()), size.shape, self.vocab)
        self.served = {name: tensor.detach().clone() for name, tensor in served.items()}

    num_tokens = property(lambda self: (self.size.length,))
    num_supervised = property(lambda self: (int(self.mask.sum()),))

    def read(self, number: int) -> Sample:
        ids = self.input_ids.numpy().astype(np.int32)
        return Sample(input_ids=ids, loss_mask=self.mask.numpy(), aux=self.aux, last=self.last)


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
        self.rows = rows_at_once(0, self.model)
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


class Peer:
    """A peer's model with AdamW, as its own trainer runs it: on fp32 masters where it computes in half precision."""

    model: torch.nn.Module
    world: World

    def loss(self) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def prepare(self) -> None:
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.low = self.world.dtype != torch.float32
        self.masters = [torch.nn.Parameter(p.detach().float()) if self.low else p for p in self.parameters]
        self.adam = torch.optim.AdamW(self.masters, lr=LR, betas=(0.9, 0.95), weight_decay=0.0, fused=True)

    def step(self) -> None:
        self.loss()[0].backward()
        if self.low:
            for master, parameter in zip(self.masters, self.parameters, strict=True):
                master.grad, parameter.grad = parameter.grad.float() if parameter.grad is not None else None, None
        torch.nn.utils.clip_grad_norm_(self.masters, CLIP)
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        if self.low:
            with torch.no_grad():
                torch._foreach_copy_(self.parameters, self.masters)


class SpecForge(Peer):
    """Offline training with its compact teacher. Its mean is over all slots; ours over the supervised ones."""

    def __init__(self, world: World) -> None:
        from specforge.algorithms.eagle3 import model as eagle3
        from specforge.core import loss as losses
        from specforge.modeling.draft.llama3_eagle import LlamaForCausalLMEagle3

        on_gpu = world.device.type == "cuda"
        if not on_gpu:  # its Triton kernel needs a GPU; this is the reference beside it, compiled as it stands there
            eagle3.LogSoftmaxLoss = type("Plain", (), {"apply": staticmethod(losses._compute_loss)})
        self.world, size = world, world.size
        config = import_transformers().LlamaConfig(
            hidden_size=size.hidden, intermediate_size=size.inner, num_attention_heads=size.heads,
            num_key_value_heads=size.kv_heads, head_dim=size.head_dim, vocab_size=size.vocab, rms_norm_eps=1e-5,
            max_position_embeddings=max(4096, size.length + 16), pad_token_id=0, draft_vocab_size=size.draft_vocab,
            pretraining_tp=1,
        )  # fmt: skip
        backend = "flex_attention" if on_gpu else "sdpa"
        draft = LlamaForCausalLMEagle3(config, attention_backend=backend).to(world.device, world.dtype)
        missing, unexpected = draft.load_state_dict(world.served, strict=False)
        assert missing == ["embed_tokens.weight"] and not unexpected, (missing, unexpected)
        draft.embed_tokens.weight.data.copy_(world.embedding)
        draft.embed_tokens.weight.requires_grad_(False)
        self.model = eagle3.OnlineEagle3Model(draft, length=size.ttt, attention_backend=backend)
        moved = lambda tensor: F.pad(tensor, (0, 0) * (tensor.dim() - 1) + (0, 1))[1:][None].to(world.device)  # noqa: E731
        self.given = {
            "input_ids": moved(world.input_ids),
            "attention_mask": torch.ones(1, size.length, device=world.device).long(),
            "target": None, "loss_mask": moved(world.mask.long())[..., None],
            "hidden_states": world.aux[None].to(world.device), "target_hidden_for_compact": moved(world.last),
            "target_head_weight": world.head,
        }  # fmt: skip
        self.prepare()

    def loss(self) -> tuple[Tensor, Tensor]:
        by_step = self.model(**self.given)[0]
        total = sum(DECAY**k * loss for k, loss in enumerate(by_step))
        return total, torch.stack([loss.detach() for loss in by_step])  # type: ignore[return-value]


class Speculators(Peer):
    """KL divergence over all supervised slots, those outside the draft vocabulary too."""

    def __init__(self, world: World) -> None:
        from speculators import SpeculatorsConfig, VerifierConfig
        from speculators.losses import resolve_loss_config
        from speculators.models.eagle3 import Eagle3SpeculatorConfig
        from speculators.models.eagle3.core import Eagle3DraftModel
        from speculators.models.eagle3.data import shift_batch
        from speculators.proposals.greedy import GreedyTokenProposalConfig

        on_gpu = world.device.type == "cuda"
        self.world, size = world, world.size
        layer = import_transformers().LlamaConfig(
            hidden_size=size.hidden, intermediate_size=size.inner, num_attention_heads=size.heads,
            num_key_value_heads=size.kv_heads, head_dim=size.head_dim, vocab_size=size.vocab, rms_norm_eps=1e-5,
            max_position_embeddings=max(4096, size.length + 16), num_hidden_layers=1,
        )  # fmt: skip
        layer._attn_implementation = "simple_flex_attention" if on_gpu else "eager"
        model = Eagle3DraftModel(
            Eagle3SpeculatorConfig(
                transformer_layer_config=layer, draft_vocab_size=size.draft_vocab,
                eagle_aux_hidden_state_layer_ids=[1, 2, 3],
                speculators_config=SpeculatorsConfig(
                    algorithm="eagle3", proposal_methods=[GreedyTokenProposalConfig(speculative_tokens=3)],
                    default_proposal_method="greedy",
                    verifier=VerifierConfig(name_or_path=None, architectures=["LlamaForCausalLM"]),
                ),
            )
        )  # fmt: skip
        names = {name.replace("midlayer.", "layers.0."): tensor for name, tensor in world.served.items()}
        names["embed_tokens.weight"] = world.embedding
        names["verifier_lm_head.weight"] = world.head[world.kept.to(world.device)]
        missing, unexpected = model.load_state_dict(names, strict=False)
        assert missing == ["verifier_norm.weight"] and not unexpected, (missing, unexpected)
        model.verifier_norm = torch.nn.Identity()  # ours are stored after the norm
        model.lm_head.weight.requires_grad_(True)  # as the others
        self.model = model.to(world.device, world.dtype)
        self.losses = resolve_loss_config("kl_div", "fused" if on_gpu else "eager")
        batch = shift_batch({
            "input_ids": world.input_ids, "hidden_states": world.aux, "verifier_last_hidden_states": world.last,
            "loss_mask": world.mask.bool(), "lengths": torch.tensor([size.length]),
            "position_ids": torch.arange(size.length),
        })  # fmt: skip
        del batch["lengths"]
        self.given = {name: tensor[None].to(world.device) for name, tensor in batch.items()}
        self.given["document_ids"] = torch.zeros(1, size.length - 1, dtype=torch.long, device=world.device)
        self.prepare()

    def loss(self) -> tuple[Tensor, Tensor]:
        _, total, figures = self.model(
            **self.given, ttt_steps=self.world.size.ttt, ttt_step_loss_decay=DECAY, loss_config=self.losses
        )
        return total, torch.stack([figures[f"loss_{k}_sum"] / DECAY**k for k in range(self.world.size.ttt)])


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


def install_peers() -> None:
    for name, pins in PEERS.items():
        if not (FOLDER / name / name).is_dir():
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(FOLDER / name), *pins]
            subprocess.run(command, check=True)
        sys.path.insert(0, str(FOLDER / name))


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
