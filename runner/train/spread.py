"""How weights and optimizer state are spread over the ranks: whole on each, or a share of their rows (FSDP2)."""

import atexit
import contextlib
from collections.abc import Iterator
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor

from runner.train.model import DraftModel
from runner.train.ranks import Ranks


class Replicated:
    """Every rank holds everything, and sums its gradients with the others' when its packs are done."""

    sums_in_backward = False

    @contextlib.contextmanager
    def gathered(self) -> Iterator[None]:
        """Forward and backward passes happen inside. All ranks enter and leave together, also those without a pack."""
        yield

    def backward(self, loss: Tensor | None, last: bool) -> None:
        """Of one pack (None: there is nothing in it); `last` of the step on this rank."""
        if loss is not None:
            loss.backward()  # type: ignore[no-untyped-call]

    def own(self, tensor: Tensor) -> Tensor:
        """This rank's part of a parameter or of its gradient, in the same memory."""
        return tensor

    def rows(self, whole: Tensor) -> Tensor:
        """The rows of a whole tensor that are this rank's."""
        return whole

    def whole(self, own: Tensor, shape: torch.Size) -> Tensor:
        """The tensor of which every rank gives its own rows. All ranks ask together."""
        return own

    def norm(self, own: Tensor) -> Tensor:
        """The norm of all ranks' parts from that of this rank's."""
        return own


class Sharded(Replicated):
    """`fully_shard` around the whole drafter: a rank keeps fp32 rows, and gathers all of them once a step in `dtype`.

    A drafter is one layer, so it is one unit: gathered explicitly and not by the hooks, so that no rank waits for one
    that has no pack. The last backward pass of a step sums the gradients and scatters them; a rank whose last pack is
    empty takes part with zeros.
    """

    sums_in_backward = True

    def __init__(self, model: DraftModel, ranks: Ranks, dtype: torch.dtype) -> None:
        """`model` in fp32, on the ranks' device."""
        from torch.distributed.device_mesh import init_device_mesh  # a second to import, and only needed here
        from torch.distributed.fsdp import (
            FSDPModule,
            MixedPrecisionPolicy,
            fully_shard,
            register_fsdp_forward_method,
        )

        self.ranks, self.drafter = ranks, model
        self.mesh = init_device_mesh(ranks.device.type, (ranks.size,))
        # torch's caches keep the mesh, and it the group: see `Ranks.leave`
        atexit.register(getattr(self.mesh, "_pg_registry", {}).clear)
        policy = MixedPrecisionPolicy(param_dtype=dtype, cast_forward_inputs=False)
        fully_shard(model, mesh=self.mesh, reshard_after_forward=False, mp_policy=policy)
        register_fsdp_forward_method(model, "idle")
        self.model = cast(FSDPModule, model)
        self.model.set_reshard_after_backward(False)
        self.model.set_gradient_divide_factor(1.0)  # the loss is a mean over all ranks' slots already
        self.model.set_force_sum_reduction_for_comms(True)

    @contextlib.contextmanager
    def gathered(self) -> Iterator[None]:
        self.model.unshard(async_op=True)  # waited for by the first forward pass; meanwhile packs are placed
        try:
            yield
        finally:
            self.model.unshard()  # where there was no pass, nobody has waited yet
            self.model.reshard()

    def backward(self, loss: Tensor | None, last: bool) -> None:
        self.model.set_requires_gradient_sync(last)
        if loss is None and last:
            loss = self.drafter.idle()
        super().backward(loss, last)

    def own(self, tensor: Tensor) -> Tensor:
        return cast(Tensor, cast(Any, tensor).to_local())

    def rows(self, whole: Tensor) -> Tensor:
        parts = torch.chunk(whole, self.ranks.size)  # as fully_shard cuts them: the last may have fewer, or none
        return parts[self.ranks.rank] if self.ranks.rank < len(parts) else whole[:0]

    def whole(self, own: Tensor, shape: torch.Size) -> Tensor:
        from torch.distributed.tensor import DTensor, Shard

        strides = torch.empty(shape, device="meta").stride()
        return DTensor.from_local(
            own, self.mesh, [Shard(0)], run_check=False, shape=shape, stride=strides
        ).full_tensor()  # fmt: skip

    def norm(self, own: Tensor) -> Tensor:
        squared = own.square()
        dist.all_reduce(squared)
        return squared.sqrt()
