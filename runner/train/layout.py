"""Where everything sits in a pack: whole conversations laid end to end, without padding.

A row is a token of the pack; slot t is the draft's own place at row t. At step k it reads the token of row
t + 1 + k and is compared with the target's last hidden state of that same row. Only what can reach a supervised
slot is computed:

- rows after the last supervised one of a conversation are cut off;
- the query, output and MLP of a slot are needed only from ttt_length slots before the first supervised row on
  (the *active* slots); earlier ones give keys and values to step 0 and nothing else;
- head and teacher see supervised slots alone.

The last row of a conversation has no next token; its slot reads whatever follows in the pack. Nothing supervised
depends on it, and the same holds for later steps near the end: their gradient is exactly zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Index tensors of one pack (N rows, A active slots, R supervised rows), int64."""

    row_starts: tuple[int, ...]  # of each conversation, and N at the end
    active_starts: tuple[int, ...]  # the same among active slots, and A at the end
    positions_N: Tensor  # place of a row in its conversation
    active_A: Tensor  # row of an active slot
    slot_of_N: Tensor  # and the active index of a row, -1 where it has none
    row_starts_C: Tensor  # the tuples above, int32
    active_starts_C: Tensor
    longest_rows: int  # of a conversation, and of its active slots
    longest_active: int
    supervised_R: Tensor  # rows that a teacher is needed for
    place_R: Tensor  # their place in their conversation
    slot_R: Tensor  # active index of the slot *at* that row, before any shift

    @property
    def num_rows(self) -> int:
        return self.row_starts[-1]

    @property
    def num_active(self) -> int:
        return self.active_starts[-1]

    def to(self, device: torch.device) -> "Layout":
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        moved = {name: value.to(device, non_blocking=True) for name, value in held.items() if torch.is_tensor(value)}
        return replace(self, **moved)  # type: ignore[arg-type]


def useful_rows(loss_mask: npt.NDArray[np.uint8]) -> int:
    """Rows of a conversation up to its last supervised one; 0 when none can be supervised (row 0 cannot)."""
    supervised = np.flatnonzero(loss_mask[1:])
    return int(supervised[-1]) + 2 if supervised.size else 0


def lay_out(masks: Sequence[npt.NDArray[np.uint8]], ttt_length: int) -> Layout:
    """The layout of conversations with these loss masks, each already cut to its useful rows."""
    rows, actives = [0], [0]
    active_rows: list[Ints] = []
    supervised_rows: list[Ints] = []
    places: list[Ints] = []
    slots: list[Ints] = []
    for mask in masks:
        length = len(mask)
        place = np.flatnonzero(mask[1:]).astype(np.int64) + 1
        first = max(int(place[0]) - ttt_length, 0)
        active_rows.append(np.arange(first, length, dtype=np.int64) + rows[-1])
        supervised_rows.append(place + rows[-1])
        places.append(place)
        slots.append(place - first + actives[-1])
        rows.append(rows[-1] + length)
        actives.append(actives[-1] + length - first)
    return Layout(
        row_starts=tuple(rows),
        active_starts=tuple(actives),
        positions_N=_join([np.arange(len(mask), dtype=np.int64) for mask in masks]),
        active_A=_join(active_rows),
        slot_of_N=_slots_of(_join(active_rows), rows[-1]),
        row_starts_C=torch.tensor(rows, dtype=torch.int32),
        active_starts_C=torch.tensor(actives, dtype=torch.int32),
        longest_rows=max((b - a for a, b in pairwise(rows)), default=0),
        longest_active=max((b - a for a, b in pairwise(actives)), default=0),
        supervised_R=_join(supervised_rows),
        place_R=_join(places),
        slot_R=_join(slots),
    )


def _join(parts: Sequence[Ints]) -> Tensor:
    return torch.from_numpy(np.concatenate(parts) if parts else np.zeros(0, np.int64))


def _slots_of(active_A: Tensor, rows: int) -> Tensor:
    slots = torch.full((rows,), -1, dtype=torch.int64)
    slots[active_A] = torch.arange(len(active_A))
    return slots


def step_slots(slot_T: Tensor, place_T: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """Active index of the slot that each step compares with a row [K, T], and whether there is one.

    The slot lies step + 1 places before the row, so rows nearer to the start of their conversation have none.
    """
    back = torch.arange(steps, device=slot_T.device)[:, None]
    return (slot_T - (back + 1)).clamp_(min=0), place_T > back


def count_slots(place_R: Tensor, kept_R: Tensor, ttt_length: int) -> Tensor:
    """Supervised slots of each step [ttt_length], int64."""
    steps = torch.arange(ttt_length, device=place_R.device)
    return (kept_R & (place_R > steps[:, None])).sum(1)
