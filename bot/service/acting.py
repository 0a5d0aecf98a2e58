"""Orders carried out: from what was understood to a step of the run, in one transaction with its audit entry."""

import secrets

from bot.core import events
from bot.core.cards import say
from bot.core.effects import ASKED, DONE, REFUSED, WORKING, Effect
from bot.core.errors import NotNow, WrongState
from bot.core.machine import plan_run
from bot.core.model import Phase, Run
from bot.core.pipeline import Value
from bot.core.reading.intent import Intent, Kind
from bot.core.summary import found
from bot.core.wanted import as_values, wanted
from bot.service import context
from bot.service.desk import Desk
from bot.service.outcome import TERMINAL, Outcome
from bot.service.polls import Polls
from bot.service.roles import may, who_may

_TRIES = 20


class Acting:
    """Carries orders out, or says why not."""

    def __init__(self, desk: Desk, polls: Polls) -> None:
        self._desk = desk
        self._polls = polls

    def carry_out(self, order: events.Ordered, run: Run, out: Outcome) -> bool:
        """Step the run and record the order in one transaction. Refusals go to the speaker alone after a click."""
        desk = self._desk
        name = type(order).__name__.lower()
        if not may(desk, order, run):
            out.text, out.mark = f"refused: {name} not allowed", REFUSED
            out.whispers.append(say(f"Only {who_may(desk, run, order)} may do that here. Nothing was changed."))
            return False
        marked = out.mark

        def mark(after: Run) -> tuple[Effect, ...]:
            """Stored with the order: the machine's own mark, which takes its place, cannot come first."""
            waits = after.phase is Phase.CHECKING or (after.armed is not None and after.armed.said == order.said)
            out.mark = marked or (WORKING if waits else DONE)
            return () if marked else out.reaction()

        try:
            after = desk.apply(run.id, order, order=lambda before: out.entry(before, f"done: {name}"), more=mark)
        except WrongState as error:
            self._refused(error, run.id, out)
            return False
        out.text = f"done: {name}, now {after.phase.value}"
        out.carried += 1
        out.shown = out.shown if marked else out.mark
        self._polls.hurry(desk.pipeline(run).stage(after.at).host)
        return True

    def _refused(self, error: WrongState, run_id: str, out: Outcome) -> None:
        run = self._desk.store.run(run_id)
        pipeline, now = self._desk.pipeline(run), self._desk.clock.now()
        line = found.line(run, pipeline, now)
        said = found.already(run, pipeline, now) if isinstance(error, NotNow) else f"{error}.\n{line}"
        (out.whispers if out.event.kind == "click" else out.cards).append(say(said))
        out.text, out.mark = f"refused: {error}", REFUSED

    def order_of(self, intent: Intent, run: Run, out: Outcome) -> events.Ordered:
        """The order that an intent stands for, at this run."""
        desk, event = self._desk, out.event
        at, by, undo_s = desk.clock.now(), event.user, desk.config.undo_s
        said = None if event.team == TERMINAL or event.kind != "message" else (event.channel, event.ts)
        values = wanted(intent, desk.pipeline(run))
        asked = run.question is not None and run.question.asked_of == by
        match intent.kind:
            case Kind.ADVANCE:
                return events.Advance(at=at, by=by, undo_s=undo_s, said=said, set=values)
            case Kind.HOLD if intent.more.get("declines") and run.question is not None:
                return events.Decline(at=at, by=by)
            case Kind.HOLD:
                return events.Hold(at=at, by=by)
            case Kind.OVERRIDE:
                return events.Override(at=at, by=by, set=values)
            case Kind.RETRY:
                return events.Retry(at=at, by=by, undo_s=undo_s, set=values)
            case Kind.BENCH:
                return events.Bench(at=at, by=by, undo_s=undo_s, said=said, set=values)
            case Kind.CANCEL if asked and context.question_of(run, by, at) is not None:
                return events.Cancel(at=at, by=by)
            case Kind.CANCEL:
                return events.AskCancel(at=at, by=by)
        raise ValueError(f"no order: {intent.kind}")

    def start(self, intent: Intent, out: Outcome) -> None:
        """A new run: its plan, waiting for `go`."""
        desk, event = self._desk, out.event
        said = f" {event.text.lower()} "
        named = [p for p in desk.pipelines.values() if any(_names(said, n) for n in (p.name, *p.names))]
        wanted = named or list(desk.pipelines.values())
        if len(wanted) != 1:
            names = ", ".join(f"`start {p.name}`" for p in wanted)
            out.cards.append(say(f"Which pipeline? {names}"))
            out.text, out.mark = "asked: which pipeline", ASKED
            return
        if desk.role_of(event.user, wanted[0]) == "viewer":
            out.whispers.append(say(f"Only {who_may(desk)} may start a run. Nothing was changed."))
            out.text, out.mark = "refused: start not allowed", REFUSED
            return
        run = self._plan(wanted[0].name, as_values(intent.set), out)
        out.text, out.mark = f"done: planned {run.id}", DONE
        out.carried += 1

    def _plan(self, pipeline_name: str, values: dict[str, Value], out: Outcome) -> Run:
        """Plan a run and show it."""
        desk, at = self._desk, self._desk.clock.now()
        for _ in range(_TRIES):
            number = desk.store.next_run_number()
            run, effects = plan_run(
                id_=f"r{number}",
                seed=secrets.token_hex(8),
                pipeline=desk.pipelines[pipeline_name],
                channel=out.event.channel,
                owner=out.event.user,
                at=at,
                overrides=values,
            )
            try:
                desk.store.add_run(run, number, effects, at, order=out.entry(run, f"done: planned {run.id}"))
            except desk.store.conflict:
                continue
            desk.kick()
            return run
        raise RuntimeError("no free run number")


def _names(said: str, name: str) -> bool:
    """Whether the name stands in the text as a word of its own."""
    at = said.find(name.lower())
    while at >= 0:
        before, after = said[at - 1], said[at + len(name)]
        if not (before.isalnum() or before in "-_.") and not (after.isalnum() or after in "-_"):
            return True
        at = said.find(name.lower(), at + 1)
    return False
