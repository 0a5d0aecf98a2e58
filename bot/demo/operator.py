"""The operator of `--auto`: reads the gates in the channel and types what a person would."""

import json
import time
from collections.abc import Callable
from typing import Any

from bot.core.model import Phase, Run
from bot.demo.show import Show
from bot.errors import BotError

# What is said at the gate after a stage; None is the plan.
WORDS = {None: "go", "extract": "extraction done, continue", "train": "training done, continue"}
OTHERWISE = "continue"
ANSWER_S = 120.0
LOOKS_S = 0.2
KILLER_LOOKS_S = 0.02  # the shortest stage is at work for a fifth of a second
FAILED = (Phase.FAILED, Phase.BLOCKED, Phase.CANCELLED)


class DemoFailed(BotError):
    """The run did not come to its end; says where it stands and where the logs are."""


def play(
    show: Show,
    start: str,
    timeout_s: float,
    kill_each_stage: bool = False,
    at_gate: Callable[[Run], None] = lambda run: None,
) -> tuple[Run, list[str]]:
    """From `start` to the end of the run. Returns it, and the stages in which the bot was killed.

    `at_gate` is called once a gate's card is in the channel, before the operator answers it. Raises DemoFailed.
    """
    operator = Operator(show, at_gate)
    operator.say(start)
    killed: list[str] = []
    until_s = time.monotonic() + timeout_s
    while time.monotonic() < until_s:
        show.pause(KILLER_LOOKS_S if kill_each_stage else LOOKS_S)
        run = operator.look()
        if run is None:
            continue
        if run.phase is Phase.DONE:
            return run, killed
        if run.phase in FAILED:
            raise DemoFailed(reason(show, run))
        if kill_each_stage and run.at not in killed and is_under_way(run):
            killed.append(run.at)
            kill(show, run.at)
        operator.answer(run)
    run = show.run()
    raise DemoFailed(f"not done after {timeout_s:g} s: {reason(show, run) if run else operator.unheard()}")


class Operator:
    """Looks at the channel, answers each open gate once, and wants to be heard within ANSWER_S."""

    def __init__(self, show: Show, at_gate: Callable[[Run], None]) -> None:
        self._show, self._at_gate = show, at_gate
        self._answered: set[int] = set()
        self._told = ""
        self._spoke_s: float | None = None  # set while an answer is waited for
        self._thread: str | None = None
        self._asked = ""  # the ts of what was said last

    def say(self, text: str) -> None:
        self._show.say(f"operator: {text}")
        self._asked = self._show.ask(text, self._thread)
        self._spoke_s = time.monotonic()

    def look(self) -> Run | None:
        """The run now. Raises DemoFailed when nothing came of what was said last."""
        run = self._show.run()
        if run is not None and (now := standing(run)) != self._told:
            self._show.say(now)
            self._told, self._spoke_s = now, None
        if self._spoke_s is not None and time.monotonic() - self._spoke_s > ANSWER_S:
            raise DemoFailed(self.unheard())
        return run

    def answer(self, run: Run) -> None:
        """Say what passes the open gate, once its card is in the channel."""
        if run.phase is not Phase.WAITING or run.gate is None or run.gate.version in self._answered:
            return
        self._thread = self._show.thread(run)
        if self._thread is not None and shows_gate(self._show.control.thread(self._thread), run):
            self._answered.add(run.gate.version)
            self._at_gate(run)
            self.say(WORDS.get(run.gate.after, OTHERWISE))

    def unheard(self) -> str:
        """What the channel says instead, and where the bot's log is."""
        seen = self._show.control.thread(self._thread or self._asked)
        last = [str(message.get("text", "")) for message in seen[-3:]]
        return "\n  ".join(["nothing came of the order; last in its thread:", *last, self._show.logs()])


def standing(run: Run) -> str:
    """Where the run is, without what changes every second."""
    gate = f", gate before {run.gate.before}" if run.gate else ""
    attempt = run.current
    state = f" ({attempt.id} {attempt.state.value})" if attempt and run.phase is Phase.RUNNING else ""
    return f"{run.id} {run.phase.value} at {run.at}{state}{gate}"


def is_under_way(run: Run) -> bool:
    """The stage's process has been seen at work, or its evidence is being made."""
    at_work = run.phase is Phase.RUNNING and run.current is not None and run.current.pid is not None
    return at_work or run.phase is Phase.VERIFYING


def kill(show: Show, stage: str) -> None:
    show.say(f"killing the bot in {stage}")
    show.kill_bot()
    show.pause(1.0)
    show.start_bot()
    show.say("the bot is back")


def shows_gate(messages: list[dict[str, Any]], run: Run) -> bool:
    """Whether a message in the thread has the button that passes the open gate."""
    assert run.gate is not None
    wanted = (run.id, run.gate.version)
    for message in messages:
        for block in message.get("blocks") or []:
            for element in block.get("elements") or []:
                if element.get("action_id", "").startswith("advance") and gate_of(element.get("value", "")) == wanted:
                    return True
    return False


def gate_of(value: str) -> tuple[str, int] | None:
    """Run and gate version in a button's value."""
    try:
        run, version, _ = json.loads(value)
    except (ValueError, TypeError):
        return None
    return str(run), int(version)


def reason(show: Show, run: Run) -> str:
    """Why the run is not done, the end of the stage's log, and where all logs are."""
    attempt = run.stage(run.at).latest()
    lines = [standing(run)]
    if attempt is not None:
        error = (attempt.status or {}).get("error") or {}
        lines += [attempt.why, str(error.get("message") or ""), str(error.get("hint") or "")]
        lines += attempt.log_tail.splitlines()[-5:]
        lines.append(f"log of {attempt.id}: {show.place.host_root}/attempts/{attempt.id}/log.txt")
    lines.append(show.logs())
    return "\n  ".join(line for line in lines if line)
