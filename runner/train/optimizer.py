"""AdamW on fp32 masters, clipping by the global norm, and the learning rate's course."""

import math
from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from runner.train.config import TrainConfig


def learning_rate(config: TrainConfig, progress: float) -> float:
    """At `progress` in [0, 1] of the run: a linear rise, then a cosine down to min_lr_ratio."""
    if progress < config.warmup:
        return config.lr * progress / config.warmup
    fall = (progress - config.warmup) / (1 - config.warmup)
    cosine = 0.5 * (1 + math.cos(math.pi * min(fall, 1.0)))
    return config.lr * (config.min_lr_ratio + (1 - config.min_lr_ratio) * cosine)


class Optimizer:
    """The weights' owner between forward passes. In fp32 a parameter is its own master."""

    def __init__(self, model: nn.Module, config: TrainConfig) -> None:
        self.names = [name for name, _ in model.named_parameters()]
        self.parameters = list(model.parameters())
        low = any(p.dtype != torch.float32 for p in self.parameters)
        self.masters = [nn.Parameter(p.detach().float()) for p in self.parameters] if low else self.parameters
        matrices = [m for m in self.masters if m.dim() > 1]
        vectors = [m for m in self.masters if m.dim() == 1]
        self.adam = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
            lr=config.lr,
            betas=(config.beta1, config.beta2),
            eps=1e-8,
            fused=True,
        )
        self.clip = config.clip

    def gradients(self) -> list[Tensor]:
        """One for every parameter; zeros where nothing was supervised."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in self.parameters if parameter.grad is not None]

    @torch.no_grad()
    def step(self, lr: float) -> Tensor:
        """Clip, update, clear the gradients. Returns the norm before clipping, on the device: asking for it waits."""
        if self.masters is not self.parameters:
            for master, parameter in zip(self.masters, self.parameters, strict=True):
                master.grad = parameter.grad.float() if parameter.grad is not None else None
                parameter.grad = None
        gradients = [master.grad for master in self.masters if master.grad is not None]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        if self.clip:
            torch._foreach_mul_(gradients, (self.clip / (norm + 1e-6)).clamp(max=1.0))
        for group in self.adam.param_groups:
            group["lr"] = lr
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        if self.masters is not self.parameters:
            torch._foreach_copy_(list[Tensor](self.parameters), list[Tensor](self.masters))
        return cast(Tensor, norm)

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Everything that a resume needs, by name: masters and both moments, and the step count."""
        for name, master in zip(self.names, self.masters, strict=True):
            yield f"model.{name}", master.detach()
            for key in ("exp_avg", "exp_avg_sq", "step"):
                if key in self.adam.state.get(master, {}):
                    yield f"adam.{key}.{name}", self.adam.state[master][key]

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take back what `tensors()` gave. Raises KeyError for a missing name."""
        for name, master in zip(self.names, self.masters, strict=True):
            master.copy_(tensors[f"model.{name}"])
            if f"adam.step.{name}" in tensors:
                self.adam.state[master] = {
                    "step": tensors[f"adam.step.{name}"].to(master.device),
                    "exp_avg": tensors[f"adam.exp_avg.{name}"].to(master.device),
                    "exp_avg_sq": tensors[f"adam.exp_avg_sq.{name}"].to(master.device),
                }
        if self.masters is not self.parameters:
            torch._foreach_copy_(list[Tensor](self.parameters), list[Tensor](self.masters))
