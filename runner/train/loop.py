"""The training loop, readable from top to bottom."""

import math
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType

import torch
from torch import Tensor

from runner.protocol.errors import Interrupted, NonFiniteLoss
from runner.protocol.status import Progress, StatusWriter
from runner.rates import Pace
from runner.train.batches import Pack, fill_packs
from runner.train.checkpoints import Position
from runner.train.graphs import Graphs
from runner.train.guards import Alarm, CourseGuard, DataGuard, raise_or_say
from runner.train.layout import count_slots
from runner.train.loss import rows_at_once
from runner.train.measure import Measured, Placed, add_up, place
from runner.train.optimizer import learning_rate
from runner.train.setup import Session, resume, settings
from runner.train.step import add_gradients

HISTORY_LINES = 1000
SMALL_HIDDEN = 2048  # up to here a step's launches take longer than its arithmetic


@dataclass(frozen=True, kw_only=True)
class Taken:
    """One optimizer step, its figures still on the device."""

    step: int
    lr: float
    packs: Sequence[Sequence[int]]
    sums: Tensor  # StepSums.stacked over all packs and ranks
    norm: Tensor


class Loop:
    """One run: the session's parts, where it stands, and what has been noticed."""

    def __init__(self, session: Session, status: StatusWriter) -> None:
        self.session, self.status = session, status
        self.position = resume(session)
        self.alarms: list[Alarm] = []
        self.data_guard = DataGuard(session.weights, session.target.head)
        self.course_guard = CourseGuard()
        self.total = session.total_steps()
        self.rows = rows_at_once(session.config.loss_rows, session.model, session.dtype)
        self.graphs = graphs_of(session)
        self.stopped_by = ""
        self._started_s = self._saved_s = time.monotonic()
        self._trained_before_s = self.position.trained_s
        self.pace, self.token_pace = Pace(), Pace()
        self.pace.note(self.progress(self.position.step))
        self.token_pace.note(self.position.tokens)
        self._pending: Taken | None = None

    def run(self) -> Position:
        """Train to the end. Raises Interrupted after saving, when a signal asked for it."""
        config, position = self.session.config, self.position
        with _Signals(self):
            if position.step == 0 and self.session.held:
                self.evaluate()
            while position.step < self.total and not self.out_of_time():
                steps = self.session.plan(position.epoch)
                self.run_epoch(steps)
                if position.step_in_epoch >= len(steps):
                    position.epoch, position.step_in_epoch = position.epoch + 1, 0
                    if not config.evaluate_every and position.step < self.total:
                        self.evaluate()
            if self.last_measured() != position.step:
                self.evaluate()
            self.save()
        return position

    def run_epoch(self, steps: Sequence[list[list[int]]]) -> None:
        """The rest of an epoch, from where the position says."""
        config, position, ranks = self.session.config, self.position, self.session.ranks
        todo = steps[position.step_in_epoch : position.step_in_epoch + self.total - position.step]
        own = [ranks.share(packs) for packs in todo]
        packs = self.session.reader.packs([pack for step in own for pack in step])
        try:
            for wanted, shares in zip(todo, own, strict=True):
                taken = self.take_step([next(packs) for _ in shares], wanted)
                position.step += 1
                position.step_in_epoch += 1
                previous, self._pending = self._pending, taken
                self.inspect(previous)  # a step late: on a GPU, looking at a number waits for it
                if config.evaluate_every and position.step % config.evaluate_every == 0:
                    self.evaluate()
                self.save_if_due()
                if ranks.any(bool(self.stopped_by)):
                    self.interrupt()
                if self.out_of_time():
                    break
        finally:
            packs.close()  # type: ignore[attr-defined]
        self.inspect_pending()

    def take_step(self, packs: Sequence[Pack], wanted: Sequence[Sequence[int]]) -> Taken:
        """Forward, backward and update for one optimizer step's packs (this rank's share of them)."""
        session, config, ranks = self.session, self.session.config, self.session.ranks
        if self.graphs:
            session.optimizer.gradients()  # they must be there before a graph adds to them
        steps = config.ttt_length
        with session.spread.gathered():
            placed = [self.place(pack) for pack in packs]
            counts = sum(
                (count_slots(one.pack.layout.place_R, one.teacher.kept_R, steps) for one in placed),
                torch.zeros(steps, dtype=torch.int64),
            ).to(ranks.device, non_blocking=True)
            ranks.sum(counts)
            weights = config.step_decay ** torch.arange(steps, device=counts.device) / counts.clamp(min=1)
            sums = add_gradients(session.model, session.spread, placed, weights, self.rows, self.graphs)
        ranks.sum(sums, *(() if session.spread.sums_in_backward else session.optimizer.gradients()))
        lr = learning_rate(config, ranks.first_says(self.progress(self.position.step + 1)))
        norm = session.optimizer.step(lr, keep_buffers=self.graphs is not None)
        return Taken(step=self.position.step + 1, lr=lr, packs=wanted, sums=sums, norm=norm)

    def place(self, pack: Pack) -> Placed:
        self.position.tokens += pack.num_tokens
        self.position.skipped.update(dict(pack.skipped))
        placed = place(pack, self.session.target, self.session.choices, self.session.ranks.device, self.session.dtype)
        self.notice(self.data_guard.look(placed))
        return placed

    def inspect_pending(self) -> None:
        previous, self._pending = self._pending, None
        self.inspect(previous)

    def inspect(self, taken: Taken | None) -> None:
        """Look at a step's figures: stop at a non-finite one, warn of a bad course, report."""
        if taken is None:
            return
        config = self.session.config
        norm, figures = float(taken.norm), Measured.of(taken.sums, config.step_decay)
        if not (math.isfinite(norm) and math.isfinite(figures.loss)):
            raise self.non_finite(taken, norm, figures)
        self.notice(self.course_guard.look(taken.step, figures, norm))
        line = {"step": taken.step, "loss": figures.loss, "lr": taken.lr, "norm": norm, **_accuracies(figures)}
        if taken.step % config.log_every == 0 or taken.step == self.total:
            self.log(line)
        self.report(line)

    def non_finite(self, taken: Taken, norm: float, figures: Measured) -> NonFiniteLoss:
        source = self.session.source
        numbers = [number for pack in taken.packs for number in pack]
        bad = [source.ids[n] for n in numbers if not _finite(source.read(n))]
        what = f"the hidden states of {', '.join(bad)} are not finite" if bad else "the states read are finite"
        return NonFiniteLoss(
            f"loss {figures.loss}, gradient norm {norm} at step {taken.step}; batch of samples "
            f"{', '.join(source.ids[n] for n in numbers)}: {what}",
            "extract those samples again" if bad else "lower --lr, or resume from an older checkpoint",
        )

    def evaluate(self) -> None:
        """Measure on held-out samples; remember the best."""
        self.inspect_pending()
        session, config, position = self.session, self.session.config, self.position
        if not session.held:
            return
        figures = self.measure(config.evaluate_samples)
        line = {"step": position.step, "held_loss": figures.loss, "held_coverage": figures.coverage}
        line.update({f"held_{name}": value for name, value in _accuracies(figures).items()})
        self.log(line)
        if position.step and figures.loss < position.best_loss:
            position.best_loss, position.best_step = figures.loss, position.step
            self.save()

    def last_measured(self) -> int:
        """The step of the newest held-out figures; -1 without any."""
        return max((int(line["step"]) for line in self.position.history if "held_loss" in line), default=-1)

    def measure(self, samples: int) -> Measured:
        """Loss and accuracy on the first `samples` held-out samples (0: all), shared between the ranks."""
        session, config = self.session, self.session.config
        numbers = session.held[:samples] if samples else session.held
        reader = replace(session.reader, threads=0)
        packs = fill_packs(numbers, session.lengths, config.pack_tokens)[session.ranks.rank :: session.ranks.size]
        placed = (self._hold(pack) for pack in reader.packs(packs))
        with session.spread.gathered():
            sums = add_up(session.model, placed, config.ttt_length, self.rows, session.ranks.device)
        session.ranks.sum(sums)
        return Measured.of(sums, config.step_decay)

    def _hold(self, pack: Pack) -> Placed:
        self.status.beat()
        self.position.skipped.update(dict(pack.skipped))
        return place(pack, self.session.target, self.session.choices, self.session.ranks.device, self.session.dtype)

    def notice(self, alarms: Iterator[Alarm] | Sequence[Alarm]) -> None:
        for alarm in alarms:
            self.alarms.append(alarm)
            raise_or_say(alarm, self.session.config.guards, self.status)

    def progress(self, step: int) -> float:
        """How far the run is, in [0, 1]: by steps, or by time where a budget would end it sooner."""
        by_step = step / self.total
        budget_s = self.session.config.time_budget_s
        return min(1.0, max(by_step, self.trained_s() / budget_s)) if budget_s else by_step

    def trained_s(self) -> float:
        return self._trained_before_s + time.monotonic() - self._started_s

    def out_of_time(self) -> bool:
        budget_s = self.session.config.time_budget_s
        return bool(budget_s) and self.session.ranks.any(self.trained_s() >= budget_s)

    def save_if_due(self) -> None:
        config = self.session.config
        by_steps = bool(config.checkpoint_every) and self.position.step % config.checkpoint_every == 0
        by_time = time.monotonic() - self._saved_s >= config.checkpoint_every_s
        if self.session.ranks.any(by_steps or by_time):
            self.save()

    def save(self) -> None:
        """A checkpoint of everything, by the first rank. Never of a step that has not been looked at.

        The others are here too, to give what they hold.
        """
        self.inspect_pending()
        self.position.trained_s = self.trained_s()
        self.position.settings = settings(self.session)
        first = self.session.ranks.first
        tensors = {name: tensor.cpu() for name, tensor in self.session.optimizer.tensors() if first}
        if first:
            self.session.checkpoints.save(tensors, self.position)
            self.status.update("running", resume=f"the checkpoint of step {self.position.step} of {self.total}")
        self._saved_s = time.monotonic()

    def interrupt(self) -> None:
        self.save()
        self.session.ranks.wait()  # torchrun kills the rest soon after one has ended, the first in the midst of saving
        raise Interrupted(
            f"stopped by {self.stopped_by or 'another rank'} after step {self.position.step} of {self.total}; saved",
            f"the same command resumes from {self.session.checkpoints.path(self.position.step)}",
        )

    def log(self, line: dict[str, float]) -> None:
        history = self.position.history
        history.append(line)
        if len(history) > HISTORY_LINES:
            history[:] = [old for n, old in enumerate(history) if "held_loss" in old or n % 2]
        if self.session.ranks.first:
            self.status.metric(**{"step": int(line["step"]), **{k: v for k, v in line.items() if k != "step"}})  # type: ignore[arg-type]

    def report(self, line: dict[str, float]) -> None:
        if not self.session.ranks.first:
            return
        spent_s = max(self.trained_s() - self._trained_before_s, 1e-6)
        position, wait = self.position, self.session.reader.wait_s / spent_s
        done = self.progress(position.step)
        self.pace.note(done)
        self.token_pace.note(position.tokens)
        self.status.update(
            "running",
            Progress(position.step, self.total, "steps"),
            rates={"tokens_s": round(self.token_pace.rate, 1)},
            eta_s=self.pace.eta_s(1 - done),
            message=f"loss {line['loss']:.3f}, accuracy {line.get('accuracy_0', 0):.3f}, data wait {wait:.1%}",
        )


def graphs_of(session: Session) -> Graphs | None:
    """Where launches bind: a small drafter on a GPU, unless the settings say otherwise."""
    config, hidden = session.config, session.model.shape.hidden_size
    fits = session.ranks.device.type == "cuda" and session.dtype != torch.float32
    small = fits and hidden <= SMALL_HIDDEN and config.shard == "none"
    wanted = config.graphs == "on" or (config.graphs == "auto" and small)
    rows = rows_at_once(config.loss_rows, session.model, session.dtype)
    return Graphs(session.model, config.ttt_length, rows) if wanted else None


def _accuracies(figures: Measured) -> dict[str, float]:
    return {f"accuracy_{k}": value for k, value in enumerate(figures.accuracy)}


def _finite(sample: object) -> bool:
    return all(bool(torch.isfinite(getattr(sample, name)).all()) for name in ("aux", "last"))


class _Signals:
    """SIGTERM and SIGINT ask the loop to stop after the step at hand."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop

    def __enter__(self) -> None:
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGTERM, signal.SIGINT)}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        self.loop.stopped_by = signal.Signals(number).name
