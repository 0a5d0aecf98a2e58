"""What others started or finished becomes a stage's work: it stands on its evidence alone."""

from dataclasses import replace

from bot.core import events
from bot.core.attempt import AttemptState
from bot.core.cards import escape, say
from bot.core.effects import Adopt, Edit, Effect, Post
from bot.core.errors import WrongState
from bot.core.machine.flow import Moved, begin, gate_key, look, needed_for, new_attempt
from bot.core.machine.orders import checkable
from bot.core.model import Run, Started
from bot.core.pipeline import Pipeline, StageSpec
from bot.core.summary import words
from bot.core.summary.gate import gate_card, stripped


def adopt(run: Run, order: events.Adopt, pipeline: Pipeline) -> Moved:
    """Take a folder or a process as the stage's newest work. A folder is verified at once, a process at its end."""
    spec = pipeline.stage(order.stage)
    if not checkable(spec):
        raise WrongState(f"{spec.id} has no check that could prove what is adopted")
    passes_no_gate(run, spec, pipeline)
    before, (run, attempt) = run, new_attempt(run, spec.id, "work", order.by, order.at, pipeline)
    attempt = replace(attempt, host=order.host, out=order.out, adopted=order.about)
    if order.process is None:
        attempt = replace(attempt, state=AttemptState.EXITED, seen_at=order.at, why="adopted")
    run = begin(skipped(run.with_attempt(attempt), spec.id, order), attempt, order.at)
    effects: list[Effect] = [Post(key=f"{attempt.id}/adopted", card=say(told(order, spec)))]
    if before.gate is not None:
        card = stripped(gate_card(before, pipeline, before.gate), f"overtaken: {spec.title} was adopted")
        effects.append(Edit(key=f"{gate_key(before, before.gate)}/used", post=gate_key(before, before.gate), card=card))
    if order.process is not None:
        return run, (*effects, Adopt(key=f"{attempt.id}/adopt", attempt=attempt.id, process=order.process))
    run, more = look(run, spec.id, "verify", order.by, order.at, pipeline)
    return run, (*effects, *more)


def passes_no_gate(run: Run, spec: StageSpec, pipeline: Pipeline) -> None:
    """Where the next stage starts by itself, adopting passes the gate before: never one that needs more people."""
    following = pipeline.after(spec.id)
    if following is None or following.gate is not None:
        return
    here = pipeline.index(spec.id)
    gated = next((s for s in reversed(pipeline.stages[: here + 1]) if s.gate is not None), None)
    if gated is not None and needed_for(run, gated.id, pipeline) > 1:
        raise WrongState(
            f"{spec.id} leads straight on to {following.id}, and the gate before {gated.id} needs more than one person"
        )


def skipped(run: Run, stage_id: str, order: events.Adopt) -> Run:
    """The stages before, where they made nothing, are not needed any more."""
    for stage in run.stages:
        if run.precedes(stage.id, stage_id) and not stage.stands:
            why = f"not needed: {stage_id} was adopted"
            run = run.with_stage(replace(stage, state="waived", waived_by=order.by, waived_why=why))
    return run


def told(order: events.Adopt, spec: StageSpec) -> str:
    title, by = f"*{escape(spec.title)}*", words.person(order.by)
    head = f"Adopted as {title}, by {by}: {escape(order.about)}, on {escape(order.host)}, in `{escape(order.out)}`."
    if order.process is None:
        return f"{head}\nNobody saw how it was made, so it stands on its evidence alone; that is being made now."
    return (
        f"{head}\nI watch it from now on; `cancel` would end it. Its exit code cannot be known to me, so that at its "
        "end it stands on its evidence alone."
    )


def cleaned(run: Run, order: events.Cleaned, pipeline: Pipeline) -> Moved:
    """What the run had made is gone; its record stays."""
    where = " and ".join(map(escape, order.hosts)) or "its hosts"
    text = f"Deleted {words.size(order.bytes)} of {run.id} on {where}, by {words.person(order.by)}."
    text += "".join(f"\n• left: {escape(line)}" for line in order.left)
    run = replace(run, cleaned=Started(by=order.by, at=order.at, stage=run.at))
    return run, (Post(key=f"{run.id}/cleaned/{run.version + 1}", card=say(text)),)
