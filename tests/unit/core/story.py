"""A run under test: steps it, plays the host, keeps every effect."""

from datetime import UTC, datetime, timedelta
from typing import Any

from bot.core import events
from bot.core.attempt import Attempt
from bot.core.effects import Effect, Launch, Post, Withdraw
from bot.core.machine import plan_run, step
from bot.core.model import Phase
from bot.core.pipeline import GateSpec, Param, Pipeline, StageSpec
from runner.protocol.evidence import Bad, Check, Evidence, Subject
from runner.protocol.view import AttemptView

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LR = Param(name="lr", type="float", default=1e-4, low=1e-6, high=1e-2, chat=True)
STEPS = Param(name="steps", type="int", default=3, low=1, high=8, chat=True)


def pipeline(needed: int = 1, bench_needed: int = 1) -> Pipeline:
    def spec(name: str, **more: Any) -> StageSpec:
        return StageSpec(id=name, title=name, verb=name, host="box1", **more)

    stages = (
        spec("synth", gate=GateSpec()),
        spec("extract"),
        spec("vocab", gate=GateSpec(needed=needed)),
        spec("train", params=(LR,)),
        spec("bench", gate=GateSpec(needed=bench_needed), params=(STEPS,), own_out=True),
    )
    return Pipeline(name="eagle", title="eagle", names=("kimi",), stages=stages)


def evidence(stage: str, ok: bool = True) -> dict[str, Any]:
    bad = [] if ok else [Bad("s-17", "truncated: 12 of 97 bytes")]
    checks = [Check("samples", ok, 10 if ok else 9, 10)]
    return Evidence(stage, Subject("/data/" + stage), checks, bad).to_json()


class Story:
    """One run and everything that its steps wanted."""

    def __init__(self, needed: int = 1, bench_needed: int = 1) -> None:
        self.pipeline = pipeline(needed, bench_needed)
        self.now = START
        self.effects: list[Effect] = []
        self.run, effects = plan_run(
            id_="r1", seed="seed", pipeline=self.pipeline, channel="C1", owner="UOWNER", at=self.now, overrides={}
        )
        self.effects += effects

    def do(self, kind: type[events.Event], **fields: Any) -> tuple[Effect, ...]:
        self.now += timedelta(seconds=1)
        if issubclass(kind, events.Ordered):
            fields = {"by": "UOP", "undo_s": 10.0} | fields
        self.run, effects = step(self.run, kind(at=self.now, **fields), self.pipeline)
        self.effects += effects
        keys = [effect.key for effect in self.effects if not isinstance(effect, Withdraw)]
        assert len(keys) == len(set(keys)), "no store takes two effects of one key: the order would fail"
        return effects

    @property
    def phase(self) -> Phase:
        return self.run.phase

    def launches(self) -> list[str]:
        """Attempts wanted and not withdrawn."""
        taken = {e.key for e in self.effects if isinstance(e, Withdraw)}
        return [e.attempt for e in self.effects if isinstance(e, Launch) and e.key not in taken]

    def last(self) -> Attempt:
        """The attempt launched last."""
        return self.run.attempt(self.launches()[-1])

    def posts(self) -> list[str]:
        return [e.key for e in self.effects if isinstance(e, Post)]

    def advance(self, **fields: Any) -> None:
        self.do(events.Advance, **({"set": {}} | fields))

    def begin(self) -> None:
        self.do(events.LaunchBegan, attempt=self.launches()[-1])

    def seen(self, state: str = "running", **fields: Any) -> None:
        attempt = self.last()
        self.do(events.Seen, view=AttemptView(attempt.id, state, attempt.token, **fields), undo_s=10.0)

    def work(self, rc: int = 0) -> None:
        """The launched work runs and exits."""
        self.seen("running", pid=4711)
        self.seen("exited", rc=rc)

    def proof(self, ok: bool = True) -> None:
        """The launched evidence attempt exits with its findings."""
        self.seen("exited", rc=0, evidence=evidence(self.last().stage, ok))

    def to_gate_after_extract(self) -> None:
        self.advance()
        self.begin()
        for _ in ("synth", "extract"):
            self.work()
            self.proof()

    def to_gate_after_train(self) -> None:
        self.to_gate_after_extract()
        self.advance()
        self.proof()
        self.begin()
        for _ in ("vocab", "train"):
            self.work()
            self.proof()

    def to_done(self) -> None:
        self.to_gate_after_train()
        self.advance()
        self.proof()
        self.begin()
        self.work()
        self.proof()
