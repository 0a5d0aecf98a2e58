"""The draft model's weights before the first step: random, or as much of the target's own as is asked for."""

import torch
from torch import Tensor

from runner.protocol.errors import DataError
from runner.train.model import DraftModel
from runner.train.target import TargetWeights


def initialise(model: DraftModel, weights: TargetWeights, kept_D: Tensor, head: str, layer: str, seed: int) -> None:
    """Random weights by `seed`, then the target's head rows and final norm (`head`), its last layer (`layer`).

    Raises DataError when the shapes of the target do not allow it.
    """
    model.reset(torch.Generator().manual_seed(seed))
    with torch.no_grad():
        if head == "target":
            _copy(model.lm_head, weights.head()[kept_D], "lm_head")
            _copy(model.norm, weights.final_norm(), "model.norm")
        if layer == "target":
            _copy_last_layer(model, weights)


def _copy_last_layer(model: DraftModel, weights: TargetWeights) -> None:
    """The layer begins as the target's last on the highest capture: nothing is read from the embedding at first.

    The other two captures and the embedding half start at zero; their gradients do not.
    """
    hidden = model.shape.hidden_size
    attention = [weights.last_layer(f"self_attn.{name}_proj") for name in "qkv"]
    mlp = [weights.last_layer(f"mlp.{name}_proj") for name in ("gate", "up")]
    _copy(model.qkv_hidden, torch.cat(attention), "self_attn.{q,k,v}_proj")
    _copy(model.o, weights.last_layer("self_attn.o_proj"), "self_attn.o_proj")
    _copy(model.gate_up, torch.cat(mlp), "mlp.{gate,up}_proj")
    _copy(model.down, weights.last_layer("mlp.down_proj"), "mlp.down_proj")
    _copy(model.hidden_norm, weights.last_layer("input_layernorm"), "input_layernorm")
    _copy(model.post_norm, weights.last_layer("post_attention_layernorm"), "post_attention_layernorm")
    model.qkv_embed.zero_()
    model.fc.zero_()
    model.fc[:, -hidden:] = torch.eye(hidden)


def _copy(parameter: Tensor, value: Tensor, name: str) -> None:
    if parameter.shape != value.shape:
        raise DataError(
            f"the target's {name} is {list(value.shape)}, the drafter needs {list(parameter.shape)}",
            "start from random weights (--init-layer none), or give the drafter the target's shape",
        )
    parameter.copy_(value.float())
