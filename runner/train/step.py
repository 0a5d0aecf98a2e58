"""The gradients of one optimizer step: this rank's packs, one after another."""

from collections.abc import Sequence

import torch
from torch import Tensor

from runner.train.graphs import Graphs
from runner.train.loss import ttt_loss
from runner.train.measure import Placed
from runner.train.model import DraftModel
from runner.train.spread import Replicated


def add_gradients(
    model: DraftModel, spread: Replicated, packs: Sequence[Placed], weights_K: Tensor, rows: int, graphs: Graphs | None
) -> Tensor:
    """Adds to the parameters' gradients; returns `StepSums.stacked` over the packs. `weights[k]`: see `ttt_loss`."""
    steps = len(weights_K)
    sums = torch.zeros(4, steps, dtype=torch.float64, device=weights_K.device)
    for number, one in enumerate(packs, 1):
        last = number == len(packs)
        if one.pack.layout.num_active == 0:
            spread.backward(None, last)
        elif graphs:
            sums += graphs.run(one, weights_K)
        else:
            states = model(one.aux_NC, one.embeds_NH, one.layout, steps)
            loss, part = ttt_loss(model, states, one.teacher, one.layout, weights_K, rows)
            spread.backward(loss, last)
            sums += part.stacked
    return sums
