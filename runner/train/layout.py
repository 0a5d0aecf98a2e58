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
from dataclasses import dataclass

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
        moved = {
            name: getattr(self, name).to(device, non_blocking=True)
            for name in ("positions_N", "active_A", "supervised_R", "place_R", "slot_R")
        }
        return Layout(row_starts=self.row_starts, active_starts=self.active_starts, **moved)


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
        supervised_R=_join(supervised_rows),
        place_R=_join(places),
        slot_R=_join(slots),
    )


def _join(parts: Sequence[Ints]) -> Tensor:
    return torch.from_numpy(np.concatenate(parts) if parts else np.zeros(0, np.int64))


def step_slots(layout: Layout, step: int, kept_R: Tensor) -> tuple[Tensor, Tensor]:
    """Step `step`'s supervised slots: their active index, and the index among kept rows of their teacher.

    `kept_R` [R] bool: the row's teacher lies inside the draft vocabulary. The slot lies step + 1 places before the
    row, so rows nearer to the start of their conversation have none.
    """
    teacher_R = kept_R.cumsum(0) - 1
    chosen = torch.nonzero(kept_R & (layout.place_R > step)).flatten()
    return layout.slot_R[chosen] - (step + 1), teacher_R[chosen]


def count_slots(place_R: Tensor, kept_R: Tensor, ttt_length: int) -> Tensor:
    """Supervised slots of each step [ttt_length], int64."""
    steps = torch.arange(ttt_length, device=place_R.device)
    return (kept_R & (place_R > steps[:, None])).sum(1)
