"""The real engine and store in this process, between a chat that remembers and a host that does as it is told."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from bot.adapters.store import open_store
from bot.config import Config
from bot.core.cards import Buttons
from bot.core.inbound import InboundEvent
from bot.core.model import Run
from bot.core.pipeline import Estimate, GateSpec, Param, Pipeline
from bot.service.code import CodeArchive
from bot.service.desk import Desk
from bot.service.engine import Engine
from tests.scenario.box import Box
from tests.scenario.chat import Chat, Said, text
from tests.unit.core import story

CHANNEL, ADA, BEN, VERA, BOT = "C1", "U0ADA", "U0BEN", "U0VERA", "U0BOT"
T = TypeVar("T")


TITLES = {
    "synth": ("synthesis",),
    "extract": ("extraction",),
    "vocab": ("vocabulary",),
    "train": ("training",),
    "bench": ("benchmark",),
}


def pipeline(needed: int = 1, **gates: GateSpec) -> Pipeline:
    """The story's pipeline in people's words; `gates` replace those before a stage."""
    made = story.pipeline(needed)
    stages = [
        replace(s, title=TITLES[s.id][0], aliases=TITLES[s.id], gate=gates.get(s.id, s.gate)) for s in made.stages
    ]
    samples = Param(name="max_samples", type="int", default=10, low=1, high=20000, chat=True)
    each = Estimate(count="max_samples", seconds_each=2.0, tokens_each=100, bytes_per_token=50)
    stages[0] = replace(stages[0], params=(samples,), estimate=each)
    return replace(made, stages=tuple(stages))


class Watch:
    """A clock that can be set, of a process that can have slept."""

    def __init__(self) -> None:
        self.offset = timedelta()
        self.slept_s = 0.0

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def monotonic_s(self) -> float:
        return time.monotonic() + self.slept_s


class Room:
    """Speak, click, look. The pipeline is `pipeline()` unless another is given, the database SQLite."""

    def __init__(
        self,
        folder: Path,
        given: Pipeline | None = None,
        hosts: Sequence[str] = ("box1",),
        url: str = "",
        **config: Any,
    ):
        self.chat, self.clock = Chat(), Watch()
        self.boxes = {name: Box(name) for name in hosts}
        self.box = self.boxes[hosts[0]]
        self.pipelines = [given or pipeline()]
        body = {
            "version": 1,
            "slack": {"channel": CHANNEL},
            "hosts": {name: {"kind": "local", "poll_s": 0.05} for name in hosts},
            "pipelines": ["none.yaml"],
            "undo_s": 0.1,
        }
        self.config = Config.model_validate(body | config)
        self.url = url or f"sqlite:///{folder}/bot.db"
        self.groups: dict[str, frozenset[str]] = {}
        self.engine: Engine | None = None
        self._stop = threading.Event()
        self._last_ts = 0.0
        self.up()

    def up(self) -> None:
        self.store = open_store(self.url)
        self.desk = Desk(
            config=self.config,
            pipelines={p.name: p for p in self.pipelines},
            store=self.store,
            hosts=self.boxes,
            poster=self.chat,
            clock=self.clock,
            code=CodeArchive(b"", "d1"),
            members=lambda group: self.groups.get(group, frozenset()),
            bot_user=BOT,
        )
        self.engine = Engine(self.desk, "test", redraw_s=0.1)
        self.engine.start()

    def down(self) -> None:
        if self.engine is not None:
            self.engine.stop()
            self.store.close()
            self.engine = None

    # people

    def event(self, text: str, user: str = ADA, thread: str | None = None, **more: Any) -> InboundEvent:
        self._last_ts = max(self._last_ts + 1e-6, time.time())
        ts = f"{self._last_ts:.6f}"
        body = {
            "kind": "message",
            "team": "T1",
            "channel": CHANNEL,
            "channel_type": "channel",
            "ts": ts,
            "event_ts": ts,
        }
        return InboundEvent(**(body | {"user": user, "text": text, "thread_ts": thread} | more))

    def hear(self, event: InboundEvent) -> InboundEvent:
        assert self.engine is not None
        self.engine.receive(event)
        return event

    def say(self, text: str, user: str = ADA, run: str | None = "r1", **more: Any) -> InboundEvent:
        """In the run's thread, or at top level where `run` is None; returns at once."""
        return self.hear(self.event(text, user, more.pop("thread", None) or (self.head(run) if run else None), **more))

    def tell(self, text: str, user: str = ADA, run: str | None = "r1", **more: Any) -> str:
        """The same, and wait for what became of it."""
        return self.outcome(self.say(text, user, run, **more))

    def button(self, key: str, action: str) -> tuple[Said, str]:
        """The newest message that has this button and whose key holds `key`, and the button's value.

        To be asked for before anything is said that may take the button away.
        """

        def look() -> tuple[Said, str] | None:
            for said in reversed(self.chat.said):
                buttons = [
                    b for p in said.card.parts if isinstance(p, Buttons) for b in p.buttons if b.action == action
                ]
                if key in said.key and buttons and self.store.post(said.key):
                    return said, buttons[0].value
            return None

        return self.until(look, f"{key} has a button {action}")

    def press(self, key: str, action: str, user: str = ADA) -> InboundEvent:
        """Click the button that `button` finds."""
        said, value = self.button(key, action)
        return self.press_value(said, action, value, user)

    def press_value(self, said: Said, action: str, value: str, user: str = ADA) -> InboundEvent:
        click = self.event("", user, said.thread_ts, kind="click", action=action, value=value)
        return self.hear(replace(click, ts=said.ts))

    # time

    def undo(self, within_s: float) -> None:
        """How long coming starts can be taken back."""
        self.desk.config = self.config.model_copy(update={"undo_s": within_s})

    def pass_time(self, seconds: float) -> None:
        self.clock.offset += timedelta(seconds=seconds)
        self.desk.kick()

    # looking

    def until(self, look: Callable[[], T | None], what: str, timeout_s: float = 15.0) -> T:
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if (found := look()) is not None and found is not False:
                return found
            time.sleep(0.01)
        raise AssertionError(f"{what}: not within {timeout_s} s\n" + "\n".join(self.texts()))

    def outcome(self, event: InboundEvent) -> str:
        return self.until(lambda: self.store.event_outcome(event.claim_key), f"{event.text!r} is handled")

    def run(self, run_id: str = "r1") -> Run:
        return self.store.run(run_id)

    def until_phase(self, phase: str, run_id: str = "r1") -> Run:
        return self.until(
            lambda: run if (run := self.run(run_id)).phase.value == phase else None, f"{run_id} is {phase}"
        )

    def until_launched(self, attempt: str) -> None:
        """A run is running as soon as its launch has begun: the host hears of it a moment later."""
        self.until(lambda: attempt in self.box.works() or None, f"{attempt} is launched")

    def head(self, run_id: str = "r1") -> str:
        return self.until(
            lambda: p.ts if (p := self.store.post(f"{run_id}/status")) else None, f"{run_id} has a thread"
        )

    def shown(self, key: str) -> Said:
        """The newest message whose key holds `key`, once the store knows of it too."""

        def look() -> Said | None:
            found = next((s for s in reversed(self.chat.said) if key in s.key), None)
            return found if found and self.store.post(found.key) else None

        return self.until(look, f"{key} is shown")

    def answer(self, event: InboundEvent) -> str:
        """What was answered to it in the thread, as one text."""
        self.outcome(event)
        from bot.service.outcome import answer_key

        return self.until(
            lambda: "\n".join(text(s.card) for s in self.chat.said if s.key.startswith(answer_key(event))) or None,
            f"{event.text!r} is answered",
        )

    def texts(self) -> list[str]:
        return [f"{s.key}: {text(s.card)}" for s in self.chat.said] + [
            f"@{u}: {text(c)}" for u, c in self.chat.whispers
        ]

    # getting somewhere

    def start(self, name: str = "eagle") -> str:
        """A planned run; returns its id."""
        outcome = self.tell(f"<@{BOT}> start {name}", run=None)
        run_id = outcome.removeprefix("done: planned ")
        self.shown(f"{run_id}/gate/")
        return run_id

    def work(self, attempt: str, rc: int = 0) -> None:
        self.until(lambda: attempt in self.box.views or None, f"{attempt} runs")
        self.box.end(attempt, rc)

    def to_gate(self, run_id: str = "r1") -> Run:
        """The gate after extract."""
        self.tell("go", run=run_id)
        self.work(f"{run_id}-synth-1")
        self.work(f"{run_id}-extract-1")
        self.shown(f"{run_id}/gate/vocab")
        return self.run(run_id)
