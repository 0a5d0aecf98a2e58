"""The draft layer unrolled over the steps of training-time test, forward and backward written out.

What autograd would not find: the embedding half of q, k and v is projected once for all steps; a weight's gradient
is one matrix product over the slots of all steps, in place of one a step added up in low precision; gradients take
the place of the activations that they belong to.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from runner.train import attention
from runner.train.layout import Layout
from runner.train.norm import norm_backward, norm_forward
from runner.train.pointwise import add_embedded, rotate, swiglu, swiglu_backward
from runner.train.shape import DraftShape

ROWS = 4096  # of a matrix that is summed in fp32


class LayerWeights(NamedTuple):
    """Of the draft model, all but norm and head."""

    fc: Tensor
    input_norm: Tensor
    hidden_norm: Tensor
    qkv_embed: Tensor
    qkv_hidden: Tensor
    o: Tensor
    post_norm: Tensor
    gate_up: Tensor
    down: Tensor


@dataclass
class Step:
    """What one step made, besides the rows of buffers that hold every step, so that weights see them together."""

    hidden: Tensor  # [A, H] that went in
    inverse: Tensor  # of its root mean square
    qkv: Tensor  # [A, qkv], turned; of step 0 its q alone
    attended: Tensor  # [A, heads * D]
    kept: list[Tensor]  # for the attention's backward pass
    middle: Tensor  # [A, H] after attention
    middle_inverse: Tensor


class Unrolled:
    """One pack's pass over the layer. `forward`, then perhaps `backward`, once."""

    def __init__(
        self, shape: DraftShape, layout: Layout, steps: int, weights: LayerWeights, angles: tuple[Tensor, Tensor],
        recompute: bool = False,
    ) -> None:  # fmt: skip
        self.shape, self.layout, self.steps, self.weights, self.recompute = shape, layout, steps, weights, recompute
        self.cos, self.sin = angles
        self.q_width, self.kv_width = shape.q_width, shape.kv_width
        self.width = self.q_width + 2 * self.kv_width
        self.attend = _attention_of(weights.fc)

    # -- forward ---------------------------------------------------------------------------------------------------

    def forward(self, aux_NC: Tensor, embeds_NH: Tensor, keep: bool) -> Tensor:
        """States after each step [K, A, H]. `keep`: for a backward pass."""
        w, layout, eps = self.weights, self.layout, self.shape.rms_norm_eps
        self.aux, rows, hidden = aux_NC, layout.num_rows, self.shape.hidden_size
        ones = torch.ones_like(w.input_norm)
        self.embeds = norm_forward(embeds_NH, ones, eps)[0]  # without its weight: see `_embedding_gradients`
        embedded = aux_NC.new_zeros(rows + self.steps, self.width)  # rows beyond the end: nothing supervised is there
        torch.mm(self.embeds * w.input_norm, w.qkv_embed.t(), out=embedded[:rows])
        self.state = torch.mm(aux_NC, w.fc.t())
        self.state_normed, self.state_inverse = norm_forward(self.state, w.hidden_norm, eps)
        kv0 = torch.addmm(embedded[1 : rows + 1, self.q_width :], self.state_normed, w.qkv_hidden[self.q_width :].t())
        angles = self.cos[layout.positions_N], self.sin[layout.positions_N]
        rotate(kv0[:, : self.kv_width], kv0[:, : self.kv_width], *angles)
        self.kv0 = kv0
        self._make_buffers(hidden)
        self.done: list[Step] = []
        given = self.state.index_select(0, layout.active_A)
        for step in range(self.steps):
            done = self._forward_step(step, given, embedded)
            given = self.states[step]
            if keep:
                self.done.append(done)
        return self.states

    def _make_buffers(self, hidden: int) -> None:
        active, new = self.layout.num_active, self.aux.new_empty
        self.states = new(self.steps, active, hidden)
        self.qkv = new(self.steps, active, self.width)
        self.normed = new(self.steps, active, hidden)
        self.attended = new(self.steps, active, self.q_width)
        self.middle_normed = new(self.steps, active, hidden)
        kept, inner = (1 if self.recompute else self.steps), self.shape.intermediate_size
        self.gate_up, self.product = new(kept, active, 2 * inner), new(kept, active, inner)

    def _forward_step(self, step: int, hidden: Tensor, embedded: Tensor) -> Step:
        w, eps, q_width = self.weights, self.shape.rms_norm_eps, self.q_width
        read = embedded.index_select(0, self.layout.active_A + (step + 1))
        normed, inverse = norm_forward(hidden, w.hidden_norm, eps)
        self.normed[step] = normed
        width = q_width + self.kv_width if step else q_width
        qkv = self.qkv[step]
        if step:
            torch.addmm(read, self.normed[step], w.qkv_hidden.t(), out=qkv)
        else:
            qkv[:, :q_width] = torch.addmm(read[:, :q_width], normed, w.qkv_hidden[:q_width].t())
        rotate(qkv[:, :width], qkv[:, :width], *self._angles(step))
        out = self._heads(self.attended[step])
        kept = self.attend.attend(self._heads(qkv[:, :q_width]), self._keys(step), self.layout, out)
        middle = torch.addmm(hidden, self.attended[step], w.o.t())
        middle_normed, middle_inverse = norm_forward(middle, w.post_norm, eps)
        self.middle_normed[step] = middle_normed
        self._mlp(step)
        torch.addmm(middle, self._of(self.product, step), w.down.t(), out=self.states[step])
        return Step(hidden, inverse, qkv, self.attended[step], kept, middle, middle_inverse)

    def _mlp(self, step: int) -> tuple[Tensor, Tensor]:
        """The MLP's two activations. Kept for every step, or made again where they are needed."""
        gate_up, product = self._of(self.gate_up, step), self._of(self.product, step)
        torch.mm(self.middle_normed[step], self.weights.gate_up.t(), out=gate_up)
        swiglu(gate_up, product)
        return gate_up, product

    def _of(self, buffer: Tensor, step: int) -> Tensor:
        return buffer[0 if self.recompute else step]

    def _angles(self, step: int) -> tuple[Tensor, Tensor]:
        angle = self.layout.positions_N.index_select(0, self.layout.active_A) + step
        return self.cos[angle], self.sin[angle]

    def _heads(self, x_AW: Tensor) -> Tensor:
        return x_AW.view(x_AW.shape[0], -1, self.shape.head_dim)

    def _keys(self, step: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """k0, v0 [N, G, D] of step 0, own keys and values [step, A, G, D] of later ones."""
        heads, groups = self.shape.num_heads, self.shape.num_kv_heads
        own = self.qkv[1 : step + 1].view(step, self.layout.num_active, heads + 2 * groups, self.shape.head_dim)
        return (
            self._heads(self.kv0[:, : self.kv_width]),
            self._heads(self.kv0[:, self.kv_width :]),
            own[:, :, heads : heads + groups],
            own[:, :, heads + groups :],
        )

    # -- backward --------------------------------------------------------------------------------------------------

    def backward(self, d_states_KAH: Tensor) -> LayerWeights:
        """Gradients of the weights, in their order, from those of the states. Uses up what `forward` kept."""
        w, layout, new = self.weights, self.layout, self.aux.new_zeros
        heads = (self.shape.num_kv_heads, self.shape.head_dim)
        kind = torch.promote_types(torch.float32, self.aux.dtype)
        d_k0, d_v0 = (new(layout.num_rows, *heads, dtype=kind) for _ in "kv")
        d_own = [new(self.steps - 1, layout.num_active, *heads, dtype=kind) for _ in "kv"]
        d_hidden, d_middle = d_states_KAH, torch.empty_like(self.states)
        d_hidden_norm, d_post_norm = new(self.states.shape[2]), new(self.states.shape[2])
        mlp = (torch.zeros_like(w.gate_up), torch.zeros_like(w.down)) if self.recompute else None
        carried: Tensor | None = None
        for step in reversed(range(self.steps)):
            done = self.done.pop()
            if carried is not None:
                d_hidden[step] += carried
            d_gate_up = self._mlp_backward(step, d_hidden[step], mlp)
            through, d_weight = norm_backward(
                torch.mm(d_gate_up, w.gate_up), done.middle, w.post_norm, done.middle_inverse
            )
            d_post_norm += d_weight
            torch.add(through, d_hidden[step], out=d_middle[step])
            self._attention_backward(step, done, torch.mm(d_middle[step], w.o), (d_k0, d_v0, *d_own))
            width = self.width if step else self.q_width
            d_normed = torch.mm(done.qkv[:, :width], w.qkv_hidden[:width])
            through, d_weight = norm_backward(d_normed, done.hidden, w.hidden_norm, done.inverse)
            d_hidden_norm += d_weight
            carried = through.add_(d_middle[step])
        assert carried is not None
        return self._weights(d_hidden, d_middle, mlp, (d_k0, d_v0), carried, d_hidden_norm, d_post_norm)

    def _mlp_backward(self, step: int, d_hidden_AH: Tensor, mlp: tuple[Tensor, Tensor] | None) -> Tensor:
        """The gradient of gate and up, in their place; those of the weights too, where steps are made again."""
        gate_up, product = self._mlp(step) if mlp else (self.gate_up[step], self.product[step])
        if mlp:
            mlp[1].addmm_(d_hidden_AH.t(), product)
        swiglu_backward(torch.mm(d_hidden_AH, self.weights.down), gate_up)
        if mlp:
            mlp[0].addmm_(gate_up.t(), self.middle_normed[step])
        return gate_up

    def _attention_backward(self, step: int, done: Step, grad_AW: Tensor, d_keys: tuple[Tensor, ...]) -> None:
        """The gradient of this step's q, k, v, before their turn, takes their place."""
        q_width, kv_width = self.q_width, self.kv_width
        d_k0, d_v0, d_own_k, d_own_v = d_keys
        q = self._heads(done.qkv[:, :q_width])
        d_q = self.attend.attend_backward(
            self._heads(grad_AW), q, self._keys(step), self._heads(done.attended), done.kept, self.layout,
            (d_k0, d_v0, d_own_k[:step], d_own_v[:step]),
        )  # fmt: skip
        cos, sin = self._angles(step)
        rotate(d_q.flatten(1), done.qkv[:, :q_width], cos, -sin)
        if step:
            rotate(d_own_k[step - 1].flatten(1), done.qkv[:, q_width : q_width + kv_width], cos, -sin)
            done.qkv[:, q_width + kv_width :] = d_own_v[step - 1].flatten(1)

    def _weights(
        self, d_hidden: Tensor, d_middle: Tensor, mlp: tuple[Tensor, Tensor] | None, d_kv0: tuple[Tensor, Tensor],
        carried: Tensor, d_hidden_norm: Tensor, d_post_norm: Tensor,
    ) -> LayerWeights:  # fmt: skip
        w, layout, q_width = self.weights, self.layout, self.q_width
        angles = self.cos[layout.positions_N], -self.sin[layout.positions_N]
        d_kv0_NW = torch.cat([part.flatten(1) for part in d_kv0], dim=1).to(self.aux.dtype)
        rotate(d_kv0_NW[:, : self.kv_width], d_kv0_NW[:, : self.kv_width], *angles)
        d_state, d_weight = norm_backward(
            torch.mm(d_kv0_NW, w.qkv_hidden[q_width:]), self.state, w.hidden_norm, self.state_inverse
        )
        d_state.index_add_(0, layout.active_A, carried)
        d_down = mlp[1] if mlp else _product(d_hidden, self.product)
        d_gate_up = mlp[0] if mlp else _product(self.gate_up, self.middle_normed)
        d_o = _product(d_middle, self.attended)
        del d_hidden, d_middle, self.product, self.gate_up, self.middle_normed, self.attended, self.states
        d_qkv_hidden = torch.empty_like(w.qkv_hidden)
        _product(self.qkv[:, :, :q_width], self.normed, out=d_qkv_hidden[:q_width])
        torch.mm(d_kv0_NW.t(), self.state_normed, out=d_qkv_hidden[q_width:])
        if self.steps > 1:
            d_qkv_hidden[q_width:] += _product(self.qkv[1:, :, q_width:], self.normed[1:])
        d_embedded = add_embedded(self.qkv, d_kv0_NW, layout)
        del self.qkv, self.normed
        d_input_norm, d_qkv_embed = self._embedding_gradients(d_embedded)
        return LayerWeights(
            fc=torch.mm(d_state.t(), self.aux), input_norm=d_input_norm, hidden_norm=d_hidden_norm + d_weight,
            qkv_embed=d_qkv_embed, qkv_hidden=d_qkv_hidden, o=d_o, post_norm=d_post_norm, gate_up=d_gate_up,
            down=d_down,
        )  # fmt: skip

    def _embedding_gradients(self, d_embedded: Tensor) -> tuple[Tensor, Tensor]:
        """Of input norm and projection. Both follow from one product with the embedding *before* the norm's weight."""
        plain = torch.mm(d_embedded.t(), self.embeds)
        d_norm = sum(
            torch.linalg.vecdot(part.float(), weight.float(), dim=0)
            for part, weight in zip(torch.split(plain, ROWS), torch.split(self.weights.qkv_embed, ROWS), strict=True)
        )
        return torch.as_tensor(d_norm).to(plain.dtype), plain.mul_(self.weights.input_norm)


def _attention_of(weight: Tensor) -> Any:
    """FlashAttention where there is one: in half precision on a GPU."""
    if not weight.is_cuda or weight.dtype == torch.float32:
        return attention
    from runner.train import flash  # Triton: only where there is a GPU

    return flash


def _product(d_out_KAW: Tensor, given_KAH: Tensor, out: Tensor | None = None) -> Tensor:
    """A weight's gradient [W, H] from all steps at once."""
    d_out, given = d_out_KAW.flatten(0, 1), given_KAH.flatten(0, 1)
    return torch.mm(d_out.t(), given) if out is None else torch.mm(d_out.t(), given, out=out)


class Unroll(torch.autograd.Function):
    """`Unrolled` for autograd."""

    @staticmethod
    def forward(ctx: Any, unrolled: Unrolled, aux_NC: Tensor, embeds_NH: Tensor, *weights: Tensor) -> Tensor:
        ctx.unrolled = unrolled
        return unrolled.forward(aux_NC, embeds_NH, keep=any(ctx.needs_input_grad[3:]))

    @staticmethod
    def backward(ctx: Any, d_states_KAH: Tensor) -> tuple[Tensor | None, ...]:
        return (None,) * 3 + tuple(ctx.unrolled.backward(d_states_KAH))
