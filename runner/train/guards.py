"""Early alarms, in words: about the data within the first steps, about the course all along."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from runner.dataset import FeatureSet
from runner.protocol.errors import CaptureMismatch, DataError, StageError
from runner.protocol.status import StatusWriter
from runner.train.measure import Measured, Placed
from runner.train.target import TargetWeights
from runner.train.teacher import TargetHead, best_ids

ROWS_LOOKED_AT = 2000  # supervised rows before the data guard makes up its mind
ROWS_TRIED = 256  # of them, for explanations that need the head again
AGREEMENT = 0.3  # sampled answers agree with the target's first choice far more often than this
COVERAGE = 0.85
WINDOW = 50


@dataclass(frozen=True)
class Alarm:
    """Something that looks wrong. `kind` is a short stable word."""

    kind: str
    message: str
    hint: str
    capture: bool = False


def raise_or_say(alarm: Alarm, how: str, status: StatusWriter) -> None:
    """`how` stop: raise CaptureMismatch or DataError. warn: say it in the status."""
    if how == "stop":
        error: type[StageError] = CaptureMismatch if alarm.capture else DataError
        raise error(alarm.message, alarm.hint)
    status.update("running", message=f"ALARM {alarm.kind}: {alarm.message}", force=True)


def look_at_layers(target: Path, features: FeatureSet) -> Iterator[Alarm]:
    """Whether the captured states are those that the manifest names: one sample through the whole target.

    Nothing in training can show it: a drafter learns from the states of any layer, and is then served others.
    """
    from runner.verify.recompute import check_states

    shortest = min(features.rows, key=lambda row: (row.num_supervised == 0, row.num_tokens))
    for check in check_states(target, features, [shortest.id]):
        if check.name == "layers" and check.ok is False:
            yield Alarm(
                "layer_slip",
                f"the states are those of hidden_states{check.found}, the manifest says {check.expected}",
                "extract again with the layer ids that mean these indices",
                capture=True,
            )


class DataGuard:
    """Does the target's head, on the stored states, say what the target said? Asked before anything is learnt.

    At a supervised row the stored last state predicts the token after it. When it does not, other readings of the
    same data are tried (a row earlier or later, a norm too few or too many), and the one that fits is named.
    """

    def __init__(self, weights: TargetWeights, head: TargetHead) -> None:
        self.norm = weights.final_norm().float() if weights.has("model.norm.weight") else None
        self.eps = float(weights.config.get("rms_norm_eps") or 1e-6)
        self.head = head
        self.rows = 0
        self.agree = {-1: 0, 0: 0, 1: 0}
        self.seen = {-1: 0, 0: 0, 1: 0}
        self.kept = 0
        self.done = False

    def look(self, placed: Placed) -> Iterator[Alarm]:
        """Add a pack; once enough rows were seen, yield what is wrong."""
        if self.done:
            return
        pack, best = placed.pack, placed.best_R.cpu()
        rows = pack.layout.supervised_R.cpu()
        tokens = {0: pack.following_R, -1: pack.input_ids_N[rows]}
        later = pack.following_R.roll(-1)
        later[~(rows.roll(-1) == rows + 1)] = -1
        tokens[1] = later
        for shift, token in tokens.items():
            known = token >= 0
            self.agree[shift] += int((best[known] == token[known]).sum())
            self.seen[shift] += int(known.sum())
        self.kept += int(placed.teacher.kept_R.sum())
        self.rows += len(rows)
        if self.rows >= ROWS_LOOKED_AT:
            self.done = True
            yield from self.judge(placed)

    def share(self, shift: int) -> float:
        return self.agree[shift] / max(self.seen[shift], 1)

    def judge(self, placed: Placed) -> Iterator[Alarm]:
        coverage = self.kept / max(self.rows, 1)
        agreement = self.share(0)
        if agreement < AGREEMENT:
            yield self.explain(placed, agreement)
        elif (better := self._normed_agreement(placed)) > agreement + 0.02:
            yield Alarm(
                "norm_missing",
                f"the last states do not look normed, and agree with {better:.0%} of the tokens that followed once "
                f"they are, with {agreement:.0%} as stored",
                "extract again with the state after the final norm",
                capture=True,
            )
        elif coverage < COVERAGE:
            yield Alarm(
                "coverage",
                f"only {coverage:.0%} of the target's choices lie in the draft vocabulary",
                "a larger --draft-vocab, or a map made from these samples",
            )

    def explain(self, placed: Placed, agreement: float) -> Alarm:
        """Name the reading of the data that makes head and tokens agree."""
        told = f"the target's head agrees with only {agreement:.0%} of the tokens that followed"
        for shift, words in ((-1, "earlier"), (1, "later")):
            if self.share(shift) > max(2 * agreement, AGREEMENT):
                return Alarm(
                    "token_shift",
                    f"{told}, but with {self.share(shift):.0%} one token {words}: states and tokens are shifted",
                    "extract again: a row is missing or doubled at the start of each sample",
                    capture=True,
                )
        last = placed.pack.last_RH[:ROWS_TRIED].float()
        follow = placed.pack.following_R[:ROWS_TRIED]
        if self.norm is not None:
            readings = {
                "norm_missing": (self._normed(last), "the final norm is applied first: states were stored before it"),
                "norm_twice": (last / self.norm, "one final norm is taken off: it was applied twice"),
            }
            for kind, (states, words) in readings.items():
                share = self._agreement(states, follow)
                if share > max(2 * agreement, AGREEMENT):
                    return Alarm(
                        kind,
                        f"{told}, but with {share:.0%} once {words}",
                        "extract again with the final norm's convention put right",
                        capture=True,
                    )
            if not self._looks_normed(last):
                return Alarm(
                    "wrong_states",
                    f"{told}, and the last states do not look like the output of the final norm",
                    "extract again: the layer that was captured as the last is not",
                    capture=True,
                )
        return Alarm(
            "wrong_head",
            f"{told} at any shift and under any norm: head and states are of different models",
            "check that --target is the model, revision and head that the states came from",
            capture=True,
        )

    def _normed_agreement(self, placed: Placed) -> float:
        """Agreement after one more norm, where the stored states do not look like the output of one; else 0."""
        last = placed.pack.last_RH[:ROWS_TRIED].float()
        if self.norm is None or self._looks_normed(last):
            return 0.0
        return self._agreement(self._normed(last), placed.pack.following_R[:ROWS_TRIED])

    def _normed(self, states: Tensor) -> Tensor:
        assert self.norm is not None
        return torch.nn.functional.rms_norm(states, (states.shape[-1],), self.norm, self.eps)

    def _agreement(self, states: Tensor, follow: Tensor) -> float:
        full = self.head.full_VH
        best = best_ids(states.to(full.device, full.dtype), full).cpu()
        known = follow >= 0
        return float((best[known] == follow[known]).float().mean()) if bool(known.any()) else 0.0

    def _looks_normed(self, states: Tensor) -> bool:
        """A normed state over the norm's weight has a root mean square of one in every row."""
        assert self.norm is not None
        scale = (states / self.norm).pow(2).mean(-1).sqrt()
        return bool((scale - 1).abs().median() < 0.05)


class CourseGuard:
    """Watches the figures of the optimizer steps: accuracy that falls or never rises, norms that explode."""

    def __init__(self) -> None:
        self.accuracy: list[float] = []
        self.norms: list[float] = []
        self.best = 0.0
        self.told: set[str] = set()

    def look(self, step: int, figures: Measured, norm: float) -> Iterator[Alarm]:
        self.accuracy = [*self.accuracy[-WINDOW + 1 :], figures.accuracy[0]]
        usual = statistics.median(self.norms) if len(self.norms) >= WINDOW else None
        self.norms = [*self.norms[-4 * WINDOW + 1 :], norm]
        mean = statistics.fmean(self.accuracy)
        if len(self.accuracy) == WINDOW:
            self.best = max(self.best, mean)
        if usual and norm > 50 * usual:
            yield from self._once(
                "norm",
                f"gradient norm {norm:.3g} at step {step}, {norm / usual:.0f} times the usual",
                "a bad batch, or --lr too high",
            )
        if self.best > 0.05 and mean < 0.6 * self.best:
            yield from self._once(
                "falling",
                f"accuracy fell from {self.best:.3f} to {mean:.3f} by step {step}",
                "lower --lr; resume from the best checkpoint",
            )
        if step == 2 * WINDOW and mean < 0.02:
            yield from self._once(
                "not_learning",
                f"accuracy is {mean:.3f} after {step} steps",
                "the captured states may be of other layers or shifted; look at extract's evidence",
            )

    def _once(self, kind: str, message: str, hint: str) -> Iterator[Alarm]:
        if kind not in self.told:
            self.told.add(kind)
            yield Alarm(kind, message, hint)
