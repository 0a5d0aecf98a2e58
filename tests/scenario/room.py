"""The real engine and store in this process, between a chat that remembers and a host that does as it is told."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from bot.adapters.store import open_store
from bot.config import Config
from bot.core.cards import Buttons, Card
from bot.core.inbound import InboundEvent
from bot.core.model import Run
from bot.core.pipeline import Estimate, GateSpec, Param, Pipeline
from bot.errors import ChatUnavailable, HostUnreachable, LaunchFailed
from bot.service.code import CodeArchive
from bot.service.desk import Desk
from bot.service.engine import Engine
from runner.protocol.evidence import Bad, Check, Evidence, Subject
from runner.protocol.spec import AttemptSpec
from runner.protocol.status import Progress
from runner.protocol.view import AttemptView, HostFacts, HostView, PollAsk
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
    """A clock that can be set."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def monotonic_s(self) -> float:
        return time.monotonic()


@dataclass
class Said:
    """One message of the bot's."""

    key: str
    ts: str
    channel: str
    thread_ts: str | None
    card: Card
    broadcast: bool = False


class Chat:
    """A Poster that keeps what it was told; `refuse` says which calls fail, and how."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.whispers: list[tuple[str, Card]] = []
        self.marks: dict[str, list[str]] = {}
        self.marked: list[tuple[str, str]] = []  # every mark that was ever set: ts and name
        self.edits: list[tuple[str, Card]] = []
        self.refuse: Callable[[str], ChatUnavailable | None] = lambda _: None
        self.hang: threading.Event | None = None
        self._count = itertools.count(1)

    def _call(self, what: str) -> None:
        if self.hang is not None:
            self.hang.wait(20)
        if error := self.refuse(what):
            raise error

    def post(
        self, key: str, channel: str, thread_ts: str | None, card: Card, broadcast: bool = False, *, first: bool = False
    ) -> str:
        self._call(f"post {key}")
        for said in self.said:
            if said.key == key:
                assert not first, f"{key} was posted before"
                return said.ts
        ts = f"{time.time():.6f}"[:-3] + f"{next(self._count) % 1000:03d}"
        self.said.append(Said(key, ts, channel, thread_ts, card, broadcast))
        return ts

    def edit(self, channel: str, ts: str, card: Card) -> None:
        self._call(f"edit {ts}")
        self.edits.append((ts, card))
        for said in self.said:
            if said.ts == ts:
                said.card = card

    def whisper(self, channel: str, thread_ts: str | None, user: str, card: Card) -> None:
        self._call(f"whisper {user}")
        self.whispers.append((user, card))

    def react(self, channel: str, ts: str, name: str, on: bool = True) -> None:
        self._call(f"{'react' if on else 'unreact'} {name}")
        marks = self.marks.setdefault(ts, [])
        if on and name not in marks:
            marks.append(name)
            self.marked.append((ts, name))
        if not on and name in marks:
            marks.remove(name)

    def upload(self, key: str, channel: str, thread_ts: str | None, name: str, body: bytes, title: str) -> str:
        return ""


def evidence(stage: str, *checks: tuple[str, int, int], bad: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """(name, found, expected) each; proven when all agree and nothing is bad."""
    made = [Check(name, found == expected, found, expected) for name, found, expected in checks]
    return Evidence(stage, Subject(f"/data/{stage}"), made, [Bad(*item) for item in bad]).to_json()


@dataclass
class Box:
    """A host: launches are counted by token; what an attempt does is told by `proofs`, `progress` and `end`."""

    name: str = "box1"
    launches: list[AttemptSpec] = field(default_factory=list)
    views: dict[str, AttemptView] = field(default_factory=dict)
    proofs: dict[str, dict[str, Any]] = field(default_factory=dict)  # by stage, for every look at it
    looks_take_s: float = 0.0
    down: bool = False
    hang: threading.Event | None = None
    refuses: str = ""
    launches_fail: bool = False
    polled: int = 0
    folders: dict[str, int] = field(default_factory=dict)  # what lies there: bytes by path
    processes: dict[int, dict[str, Any]] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)  # as the last question named them

    def _reach(self) -> None:
        if self.hang is not None:
            self.hang.wait(20)
        if self.down:
            raise HostUnreachable(self.name, "no answer within 15 s")

    def launch(self, spec: AttemptSpec, secrets: Mapping[str, str]) -> AttemptView:
        self._reach()
        if self.launches_fail:
            raise HostUnreachable(self.name, "the link broke")
        if self.refuses:
            raise LaunchFailed(self.name, self.refuses)
        if spec.attempt not in self.views:
            self.launches.append(spec)
            self.views[spec.attempt] = AttemptView(spec.attempt, "running", spec.token, pid=4000 + len(self.launches))
            if "." in spec.attempt:
                threading.Timer(self.looks_take_s, self._looked, [spec]).start()
        return self.views[spec.attempt]

    def _looked(self, spec: AttemptSpec) -> None:
        proof = self.proofs.get(spec.stage) or evidence(spec.stage, ("samples", 10, 10))
        self.views[spec.attempt] = replace(self.views[spec.attempt], state="exited", rc=0, evidence=proof)

    def poll(self, asks: Sequence[PollAsk]) -> HostView:
        self._reach()
        self.polled += 1
        facts = HostFacts("boot", self.name, "now", 10**12, 2 * 10**12, 0.5, "3.11", root="/srv/pointsman")
        return HostView(facts, [self.views.get(a.attempt, AttemptView(a.attempt, "absent")) for a in asks])

    def kill(self, attempt: str, token: str, grace_s: float) -> AttemptView:
        self._reach()
        view = self.views.get(attempt)
        if view is None:
            return AttemptView(attempt, "absent")
        self.views[attempt] = replace(view, state="cancelled")
        return self.views[attempt]

    def ship(self, archive: bytes, digest: str) -> None:
        self._reach()

    def fetch(self, path: str, max_bytes: int) -> bytes:
        raise FileNotFoundError(path)

    def inspect(self, *, path: str = "", pid: int = 0) -> dict[str, Any]:
        self._reach()
        if pid and pid in self.processes:
            return self.processes[pid]
        if path in self.folders:
            return {"path": path, "bytes": self.folders[path], "files": 10, "whole": True}
        raise LaunchFailed(self.name, f"there is no {pid or path}", "no-folder")

    def adopt(self, spec: AttemptSpec, process: Mapping[str, Any]) -> AttemptView:
        self._reach()
        self.views.setdefault(spec.attempt, AttemptView(spec.attempt, "running", spec.token, pid=process["pid"]))
        return self.views[spec.attempt]

    def usage(self, paths: Sequence[str], others: Mapping[str, str]) -> list[dict[str, Any]]:
        self._reach()
        self.others = dict(others)
        used = {path: f"used by {who}" for path, who in others.items()}
        return [
            {"path": path, "bytes": self.folders[path], "files": 10, "whole": True, "kept": used.get(path, "")}
            for path in paths
            if path in self.folders
        ]

    def remove(self, paths: Sequence[str], others: Mapping[str, str]) -> list[str]:
        self._reach()
        assert not set(paths) & set(others)
        self.removed += [path for path in paths if self.folders.pop(path, None) is not None]
        return list(paths)

    def close(self) -> None:
        return None

    def progress(self, attempt: str, done: int, total: int = 10) -> None:
        status = {"state": "running", "progress": vars(Progress(done, total, "samples"))}
        self.views[attempt] = replace(self.views[attempt], status=status)

    def end(self, attempt: str, rc: int = 0) -> None:
        self.views[attempt] = replace(
            self.views[attempt], state="exited", rc=rc, log_tail="Done\n" if not rc else "boom"
        )

    def works(self) -> list[str]:
        """Attempts that did work, in order."""
        return [spec.attempt for spec in self.launches if "." not in spec.attempt]


class Room:
    """Speak, click, look. The pipeline is `pipeline()` unless another is given."""

    def __init__(self, folder: Path, given: Pipeline | None = None, hosts: Sequence[str] = ("box1",), **config: Any):
        self.chat, self.clock = Chat(), Watch()
        self.boxes = {name: Box(name) for name in hosts}
        self.box = self.boxes[hosts[0]]
        self.pipelines = [given or pipeline()]
        body = {
            "version": 1,
            "slack": {"channel": CHANNEL},
            "hosts": {name: {"kind": "local", "poll_s": 0.2} for name in hosts},
            "pipelines": ["none.yaml"],
            "undo_s": 0.3,
        }
        self.config = Config.model_validate(body | config)
        self.url = f"sqlite:///{folder}/bot.db"
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


def text(card: Card) -> str:
    """Every text of a card, for looking into."""
    return json.dumps(card, default=vars, ensure_ascii=False)
