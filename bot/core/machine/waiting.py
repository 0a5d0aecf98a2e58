"""Waiting for a person: reminders that come once, escalate, and never start anything."""

from dataclasses import replace
from datetime import datetime

from bot.core import events
from bot.core.cards import escape, say
from bot.core.effects import Edit, Post
from bot.core.machine.flow import Moved
from bot.core.model import Reminder, Run
from bot.core.pipeline import GateSpec, Pipeline
from bot.core.reminders import escalates, next_reminder
from bot.core.summary.waiting import reminder_card


def gate_spec(run: Run, pipeline: Pipeline) -> GateSpec:
    """The rules of whoever is waited for: the open gate's, else those of the gate nearest to where the run stands."""
    if run.gate is not None and (spec := pipeline.stage(run.gate.before).gate) is not None:
        return spec
    here = pipeline.index(run.at)
    nearest = [*pipeline.stages[here + 1 :], *reversed(pipeline.stages[: here + 1])]
    return next((stage.gate for stage in nearest if stage.gate is not None), GateSpec())


def first_reminder(run: Run, at: datetime, pipeline: Pipeline) -> Reminder | None:
    """The first reminder for what waits since `at`."""
    due = next_reminder(at, at, gate_spec(run, pipeline))
    return Reminder(since=at, next_at=due) if due else None


def overtaken(run: Run, after: Run, pipeline: Pipeline) -> Moved:
    """A cancel that was asked about, and not answered before what it was about came to its end: it is asked no more."""
    asked = run.question
    if asked is None or after.question is not asked or (after.phase is run.phase and after.at == run.at):
        return after, ()
    title = escape(pipeline.stage(run.at).title)
    text = f"Nothing was cancelled: *{title}* took a turn before this was answered."
    key = f"{run.id}/cancel/{asked.version}"
    return replace(after, question=None), (Edit(key=f"{key}/overtaken", post=key, card=say(text)),)


def remind(run: Run, event: events.Remind, pipeline: Pipeline) -> Moved:
    """Say once more that the run waits. The next time is stored with it, so that no restart says it twice."""
    due = run.reminder
    if due is None or event.at < due.next_at:
        return run, ()
    spec = gate_spec(run, pipeline)
    above = spec.escalate_to if escalates(due.since, event.at, spec) else ()
    following = next_reminder(due.since, event.at, spec)
    number = due.sent + 1
    after = replace(due, next_at=following, sent=number) if following else None
    key = f"{run.id}/remind/{int(due.since.timestamp())}/{number}"
    return replace(run, reminder=after), (Post(key=key, card=reminder_card(run, pipeline, due.since, above)),)
