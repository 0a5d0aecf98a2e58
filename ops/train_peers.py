"""What `ops/bench_train.py` trains on, and the public trainers that it is compared with."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from runner.drafter import to_served
from runner.hf import import_transformers
from runner.train.batches import Sample
from runner.train.model import DraftModel
from runner.train.shape import DraftShape, Rope
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


def install_peers() -> None:
    for name, pins in PEERS.items():
        if not (FOLDER / name / name).is_dir():
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(FOLDER / name), *pins]
            subprocess.run(command, check=True)
        sys.path.insert(0, str(FOLDER / name))
