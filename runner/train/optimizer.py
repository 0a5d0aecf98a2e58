"""AdamW on fp32 masters, clipping by the global norm, and the learning rate's course."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from runner.train.config import TrainConfig
from runner.train.spread import Replicated

EPS = 1e-8
MOMENTUM = 0.95  # of Muon


def learning_rate(config: TrainConfig, progress: float) -> float:
    """At `progress` in [0, 1] of the run: a linear rise, then a cosine down to min_lr_ratio."""
    if progress < config.warmup:
        return config.lr * progress / config.warmup
    fall = (progress - config.warmup) / (1 - config.warmup)
    cosine = 0.5 * (1 + math.cos(math.pi * min(fall, 1.0)))
    return config.lr * (config.min_lr_ratio + (1 - config.min_lr_ratio) * cosine)


class Optimizer:
    """The weights' owner between forward passes. In fp32 a parameter (or this rank's rows of it) is its own master.

    Half precision on a GPU has a kernel of its own: one pass over master, moments, gradient and weight.
    """

    def __init__(self, model: nn.Module, config: TrainConfig, spread: Replicated | None = None) -> None:
        """`spread`: how the model's parameters lie on the ranks (without it: whole)."""
        self.spread = spread or Replicated()
        self.names = [name for name, _ in model.named_parameters()]
        self.parameters = list(model.parameters())
        self.shapes = [p.shape for p in self.parameters]
        self.low = any(p.dtype != torch.float32 for p in self.parameters)
        own = [self.spread.own(p) for p in self.parameters]
        self.apart = self.low or any(part is not p for part, p in zip(own, self.parameters, strict=True))
        self.masters = [nn.Parameter(part.detach().float()) for part in own] if self.apart else self.parameters
        self.fused = self.low and self.parameters[0].is_cuda
        by_name = dict(zip(self.names, self.masters, strict=True))
        layer = {name for name, master in by_name.items() if master.dim() > 1 and name != "lm_head"}
        self.turned = layer if config.optimizer == "muon" else set()
        matrices = [m for name, m in by_name.items() if m.dim() > 1 and name not in self.turned]
        vectors = [m for m in self.masters if m.dim() == 1]
        self.adam = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
            lr=config.lr,
            betas=(config.beta1, config.beta2),
            eps=EPS,
            fused=True,
        )
        self.config, self.count = config, 0

    def gradients(self) -> list[Tensor]:
        """One for every parameter; zeros where nothing was supervised."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [self.spread.own(parameter.grad) for parameter in self.parameters if parameter.grad is not None]

    @torch.no_grad()
    def step(self, lr: float, keep_buffers: bool = False) -> Tensor:
        """Clip, update, clear the gradients. Returns the norm before clipping, on the device: asking for it waits.

        `keep_buffers`: gradients become zeros in the same memory, for a CUDA graph that adds to them.
        """
        gradients = self.gradients()
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients, 2, torch.float32)))
        norm = self.spread.norm(norm)
        factor = (self.config.clip / (norm + 1e-6)).clamp(max=1.0) if self.config.clip else torch.ones_like(norm)
        if self.fused:
            self._step_fused(gradients, factor, lr)
        else:
            self._step_plain(gradients, factor, lr)
        if keep_buffers:
            torch._foreach_zero_(gradients)
        else:
            for parameter in self.parameters:
                parameter.grad = None
        return norm

    def _step_plain(self, gradients: list[Tensor], factor: Tensor, lr: float) -> None:
        for name, shape, master, gradient in zip(self.names, self.shapes, self.masters, gradients, strict=True):
            scaled = gradient.float()  # in fp32 the gradient itself, in its own memory
            if self.config.clip:
                scaled.mul_(factor)
            if name in self.turned:
                self._turn(master, scaled, shape, lr)
            else:
                master.grad = scaled
        for group in self.adam.param_groups:
            group["lr"] = lr
        self.adam.step()
        if self.apart:
            self.adam.zero_grad(set_to_none=True)
        if self.low:
            torch._foreach_copy_(list[Tensor](self.parameters), list[Tensor](self.masters))

    def _step_fused(self, gradients: list[Tensor], factor: Tensor, lr: float) -> None:
        from runner.train import kernels

        betas, decay = (self.config.beta1, self.config.beta2), self.config.weight_decay
        self.count += 1
        corrections = [1 - beta**self.count for beta in betas]
        rest = [torch.tensor([lr, 1 - lr * share, *corrections]) for share in (decay, 0.0)]
        scalars = [torch.cat([factor[None], values.to(factor.device, non_blocking=True)]) for values in rest]
        for name, master, weight, gradient in zip(self.names, self.masters, self.parameters, gradients, strict=True):
            if name in self.turned:
                self._turn(master, gradient.float() * factor, master.shape, lr)
                weight.copy_(master)
                continue
            state = self.adam.state[master]
            if not state:
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(master), torch.zeros_like(master)
            state["step"] = torch.tensor(float(self.count))
            which = scalars[0] if master.dim() > 1 else scalars[1]
            kernels.adamw(master, weight, gradient, state["exp_avg"], state["exp_avg_sq"], which, *betas, EPS)

    def _turn(self, master: Tensor, gradient: Tensor, shape: torch.Size, lr: float) -> None:
        """Muon (Jordan 2024): Nesterov momentum, orthogonalised, at the size that AdamW's updates have."""
        state = self.adam.state[master]
        if not state:
            state["exp_avg"] = torch.zeros_like(master)
        state["exp_avg"].lerp_(gradient, 1 - MOMENTUM)
        update = orthogonal(self.spread.whole(gradient.lerp(state["exp_avg"], MOMENTUM), shape))
        master.mul_(1 - lr * self.config.weight_decay)
        master.add_(self.spread.rows(update), alpha=-lr * 0.2 * math.sqrt(max(shape)))

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Everything that a resume needs, by name: masters and both moments, whole, and the step count.

        All ranks ask together.
        """
        for name, shape, master in zip(self.names, self.shapes, self.masters, strict=True):
            yield f"model.{name}", self.spread.whole(master.detach(), shape)
            state = self.adam.state.get(master, {})
            for key in ("exp_avg", "exp_avg_sq"):
                if key in state:
                    yield f"adam.{key}.{name}", self.spread.whole(state[key], shape)
            if "step" in state:
                yield f"adam.step.{name}", state["step"]

    def held_bytes(self) -> int:
        """Of masters and moments on this rank."""
        states = [value for state in self.adam.state.values() for value in state.values() if torch.is_tensor(value)]
        return sum(tensor.numel() * tensor.element_size() for tensor in (*self.masters, *states))

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take back what `tensors()` gave. Raises KeyError for a missing name."""
        for name, master in zip(self.names, self.masters, strict=True):
            master.copy_(self.spread.rows(tensors[f"model.{name}"]))
            for key in ("exp_avg", "exp_avg_sq"):
                if f"adam.{key}.{name}" in tensors:
                    rows = self.spread.rows(tensors[f"adam.{key}.{name}"])
                    self.adam.state[master][key] = rows.to(master.device, copy=True)
            if f"adam.step.{name}" in tensors:
                step = tensors[f"adam.step.{name}"]
                self.adam.state[master]["step"] = step.to("cpu" if self.fused else master.device)
                self.count = max(self.count, int(step))
        if self.low:
            torch._foreach_copy_(list[Tensor](self.parameters), list[Tensor](self.masters))


def orthogonal(matrix: Tensor) -> Tensor:
    """The nearest matrix with equal singular values, roughly: five quintic Newton-Schulz steps in bf16 on a GPU."""
    x = matrix.to(torch.bfloat16) if matrix.is_cuda else matrix
    x = x.t() if matrix.shape[0] > matrix.shape[1] else x
    x = x / (torch.linalg.vector_norm(x) + 1e-7)
    for _ in range(5):
        a = x @ x.t()
        x = torch.addmm(x, torch.addmm(a, a, a, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return (x.t() if matrix.shape[0] > matrix.shape[1] else x).to(matrix.dtype)
