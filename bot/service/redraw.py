"""Status cards are drawn again when they would look different: at once for a new phase, else every so often."""

import logging

from bot.core.attempt import AttemptState
from bot.core.effects import Edit
from bot.core.machine.flow import gate_key
from bot.core.model import Phase, Run
from bot.core.summary.gate import gate_card
from bot.core.summary.status import status_card
from bot.errors import ChatUnavailable, StoreUnavailable
from bot.service.chat import digest, mask_card
from bot.service.desk import Desk

log = logging.getLogger(__name__)
EVERY_S = 30.0
AGAIN_S = 5.0
REPAIR_S = 60.0
STEP_PERCENT = 1.0


class Redraw:
    """Edits at 1 % or 30 s, whichever is later, and the latest state only. One thread calls it.

    A card that gets no answer is tried again after a while; those of other runs do not wait for it.
    """

    def __init__(self, desk: Desk, every_s: float = EVERY_S) -> None:
        self._desk = desk
        self._every_s = every_s
        self._drawn: dict[str, tuple[float, tuple[object, ...], float]] = {}
        self._not_before_s = 0.0
        self._again: dict[str, float] = {}
        self._gates_drawn = False

    def take(self) -> None:
        """Draw what is due."""
        now_s = self._desk.clock.monotonic_s()
        if now_s < self._not_before_s:
            return
        self._open_gates()
        for run in self._desk.store.all_runs():
            if now_s < self._again.get(run.id, 0.0) or not self._due(run, now_s):
                continue
            try:
                if not self._draw(run):
                    continue
            except ChatUnavailable as error:
                if error.whole or error.retry_after_s is not None:
                    self._not_before_s = now_s + (error.retry_after_s or AGAIN_S)
                    return
                if error.fatal or not error.code:
                    self._again[run.id] = now_s + (REPAIR_S if error.fatal else AGAIN_S)
                    continue
                # else that card is gone
            except StoreUnavailable:
                raise
            except Exception:  # one run that cannot be shown must not freeze the cards of the others
                log.exception("the card of %s cannot be drawn", run.id)
            self._drawn[run.id] = (now_s, _shape(run), _percent(run))

    def _open_gates(self) -> None:
        """Once after a start: clicks that nobody heard are never told again, so their buttons are made anew."""
        if self._gates_drawn:
            return
        desk, now = self._desk, self._desk.clock.now()
        runs = desk.store.all_runs(live_only=True)
        self._gates_drawn = True
        for run in runs:
            if run.gate is None or run.phase not in (Phase.WAITING, Phase.HELD) or run.pipeline not in desk.pipelines:
                continue
            key = gate_key(run, run.gate)
            if desk.store.post(key) is None:
                continue
            try:
                card = gate_card(run, desk.pipeline(run), run.gate)
            except Exception:
                log.exception("the gate of %s cannot be drawn", run.id)
                continue
            desk.store.redrawn(key, "")  # so that it is sent although it looks the same
            effect = Edit(key=f"{key}/again/{int(now.timestamp())}", post=key, card=card)
            desk.store.add_effects(run.id, (effect,), now)

    def _due(self, run: Run, now_s: float) -> bool:
        if run.pipeline not in self._desk.pipelines:
            return False
        before = self._drawn.get(run.id)
        if before is None:
            return True
        drawn_s, shape, percent = before
        if shape != _shape(run):
            return True
        moved = abs(_percent(run) - percent) >= STEP_PERCENT or _unknown(run)
        return moved and now_s - drawn_s >= self._every_s

    def _draw(self, run: Run) -> bool:
        """False while there is no card: what is posted later may show the run as it was planned."""
        posted = self._desk.store.post(f"{run.id}/status")
        if posted is None:
            return False
        card = status_card(run, self._desk.pipeline(run), self._desk.clock.now())
        shown = mask_card(card, self._desk.known_secrets())
        if digest(shown) != posted.digest:
            self._desk.poster.edit(posted.channel, posted.ts, shown)
            self._desk.store.redrawn(posted.key, digest(shown))
        return True


def _shape(run: Run) -> tuple[object, ...]:
    """What makes a card look different at once."""
    states = tuple((stage.id, stage.state) for stage in run.stages)
    attempts = tuple((a.id, a.state) for a in run.live)
    return run.phase, run.at, states, attempts, run.armed is not None


def _percent(run: Run) -> float:
    return (run.current.percent if run.current else None) or 0.0


def _unknown(run: Run) -> bool:
    return any(a.state is AttemptState.UNKNOWN for a in run.live)
