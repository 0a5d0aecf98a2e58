"""What orders do."""

from collections.abc import Iterable
from dataclasses import replace

from bot.core import events
from bot.core.attempt import AttemptState
from bot.core.cards import Buttons, Card, Text, escape, say
from bot.core.clicks import Click, button
from bot.core.effects import Edit, Effect, Kill, Post, Withdraw
from bot.core.errors import WrongState
from bot.core.machine.extension import EXTENDED, extended_stages, extension
from bot.core.machine.flow import Moved, gate_key, look, needed_for, next_gate, open_gate, proven, start
from bot.core.model import Armed, Gate, Phase, Question, Run
from bot.core.pipeline import Pipeline, StageSpec, Value
from bot.core.summary import words
from bot.core.summary.armed import armed_rule
from bot.core.summary.gate import gate_card, quorum, stripped

GRACE_S = 20.0


def advance(run: Run, order: events.Advance, pipeline: Pipeline) -> Moved:
    """Pass the open gate: count the person, look at the evidence once more, then start."""
    gate = run.gate
    if gate is None:
        raise WrongState(f"{run.id} has no open gate")
    before, run = run, _override(run, order.set, pipeline.led_to(gate.before))
    others = () if run.stages != before.stages else tuple(p for p in gate.passed_by if p[0] != order.by)
    gate = replace(
        gate,
        passed_by=(*others, (order.by, order.at.isoformat())),
        needed=needed_for(run, gate.before, pipeline),
        held_by="",
        held_at=None,
    )
    run = replace(run, gate=gate, phase=Phase.WAITING)
    if len(gate.passed_by) < gate.needed:
        text = f"{words.person(order.by)} passes this gate. {quorum(gate)}"
        told = Post(key=f"{gate_key(run, gate)}/passed/{run.version + 1}", card=say(text))
        return run, (told, counted(run, gate, pipeline))
    if gate.after is not None and checkable(pipeline.stage(gate.after)) and run.stage(gate.after).state == "proven":
        run = replace(run, armed=Armed(by=order.by, at=order.at, stage=gate.after, said=order.said))
        return look(run, gate.after, "check", order.by, order.at, pipeline)
    return start_gated(run, order.by, order.undo_s, order, pipeline)


def counted(run: Run, gate: Gate, pipeline: Pipeline) -> Edit:
    """The gate's card with those who have passed it."""
    key = gate_key(run, gate)
    return Edit(key=f"{key}/card/{run.version + 1}", post=key, card=gate_card(run, pipeline, gate))


def start_gated(run: Run, by: str, undo_s: float, event: events.Event, pipeline: Pipeline) -> Moved:
    """The gate is passed and the evidence stands: start what is behind it, strip the card's buttons."""
    gate = run.gate
    if gate is None:
        raise WrongState(f"{run.id} has no open gate")
    card = stripped(gate_card(run, pipeline, gate), f"passed by {words.person(by)} at {words.moment(event.at)}")
    used = Edit(key=f"{gate_key(run, gate)}/used", post=gate_key(run, gate), card=card)
    run, effects = start(run, gate.before, by, event.at, undo_s, pipeline)
    return run, (*effects, used)


def checkable(spec: StageSpec) -> bool:
    """Whether the stage has a command that makes evidence."""
    return spec.verify != () and (spec.verb is not None or bool(spec.verify))


def arm(run: Run, order: events.Advance | events.Arm, pipeline: Pipeline) -> Moved:
    """The order stands and waits for the proof; it passes the next gate by itself."""
    gated = next_gate(run, pipeline)
    last = pipeline.before(gated.id)
    if last is None:
        raise WrongState(f"{run.id} has not begun")
    if run.armed is not None:
        raise WrongState(f"{words.person(run.armed.by)} has ordered that already; it waits for the proof of {last.id}")
    when: dict[str, float] = {}
    if isinstance(order, events.Advance):
        run = _override(run, order.set, pipeline.led_to(gated.id))
    else:
        when = dict(order.when)
    run = replace(run, armed=Armed(by=order.by, at=order.at, stage=last.id, when=when, said=order.said))
    text = f"Noted, by order of {words.person(order.by)}: {armed_rule(run, pipeline, when)} Say `hold` to take it back."
    return run, (Post(key=f"{run.id}/armed/{run.at}/{run.version + 1}", card=say(text)),)


def watch(run: Run, order: events.Watch, pipeline: Pipeline) -> Moved:
    """Tell this person of the next turn."""
    if order.by in run.watchers:
        return run, ()
    text = f"I tell {words.person(order.by)} as soon as {escape(pipeline.stage(run.at).title)} takes a turn."
    run = replace(run, watchers=(*run.watchers, order.by))
    return run, (Post(key=f"{run.id}/watch/{run.version + 1}", card=say(text)),)


def hold(run: Run, order: events.Hold, pipeline: Pipeline) -> Moved:
    """Keep the gate shut."""
    if run.gate is None:
        raise WrongState(f"{run.id} has no open gate")
    gate = replace(run.gate, held_by=order.by, held_at=order.at, passed_by=())
    text = f"On hold, by {words.person(order.by)}. Nothing starts until somebody says `continue`."
    return replace(run, gate=gate, phase=Phase.HELD), (Post(key=f"{run.id}/hold/{run.version + 1}", card=say(text)),)


def keep(run: Run, order: events.Hold, pipeline: Pipeline) -> Moved:
    """Nothing would have started; say so, and remind nobody of it any more."""
    text = f"{run.id} is {run.phase.value}: nothing starts without an order, and I do not remind of it any more."
    return replace(run, reminder=None), (Post(key=f"{run.id}/hold/{run.version + 1}", card=say(text)),)


def take_back(run: Run, order: events.Ordered, pipeline: Pipeline) -> Moved:
    """Within the undo window: the launch is withdrawn, the run is where it was, on hold."""
    starting = run.starting
    if starting is None:
        raise WrongState(f"{run.id} is not starting")
    attempt = replace(run.attempt(starting.attempt), state=AttemptState.WITHDRAWN, why=f"taken back by {order.by}")
    for stage_id, overrides in starting.kept:
        run = run.with_stage(replace(run.stage(stage_id), overrides=overrides))
    run = replace(run.with_attempt(attempt), starting=None, armed=None, phase=starting.back, at=starting.was_at)
    effects: list[Effect] = [Withdraw(key=f"{attempt.id}/launch")]
    said = f"Taken back by {words.person(order.by)}: nothing was started."
    effects.append(Edit(key=f"{attempt.id}/undone", post=f"{attempt.id}/starting", card=say(said)))
    if run.gate is not None:
        gate = replace(run.gate, held_by=order.by, held_at=order.at, passed_by=(), version=run.version + 1)
        run = replace(run, gate=gate, phase=Phase.HELD)
        effects.append(Post(key=gate_key(run, gate), card=gate_card(run, pipeline, gate)))
    return run, tuple(effects)


def disarm(run: Run, order: events.Ordered, pipeline: Pipeline) -> Moved:
    """While something runs, hold takes back what was armed and lets the running stage be."""
    if run.armed is None:
        text = f"{escape(pipeline.stage(run.at).title)} goes on; at its end I wait for an order. `cancel` would end it."
        return run, (Post(key=f"{run.id}/hold/{run.version + 1}", card=say(text)),)
    text = f"Taken back by {words.person(order.by)}: nothing starts by itself any more."
    run = replace(run, armed=None)
    if run.phase is Phase.CHECKING and run.gate is not None:
        gate = replace(run.gate, held_by=order.by, held_at=order.at, passed_by=())
        run = replace(run, gate=gate, phase=Phase.HELD)
    return run, (Post(key=f"{run.id}/disarmed/{run.version + 1}", card=say(text)),)


def override(run: Run, order: events.Override, pipeline: Pipeline) -> Moved:
    """Set values of the stages still to come."""
    first = pipeline.index(run.gate.before) if run.gate else pipeline.index(run.at) + (run.phase is not Phase.DONE)
    run = _override(run, order.set, pipeline.stages[first:])
    text = (
        f"Set {words.settings(order.set)} for what comes next, by {words.person(order.by)}. Still waiting for an order."
    )
    if run.gate is not None and run.gate.passed_by:
        text += " Whoever passed this gate before has to pass it again."
    if run.gate is not None:
        needed = needed_for(run, run.gate.before, pipeline)
        run = replace(run, gate=replace(run.gate, passed_by=(), needed=needed))
    effects: list[Effect] = [Post(key=f"{run.id}/set/{run.version + 1}", card=say(text))]
    if run.gate is not None:
        key = gate_key(run, run.gate)
        effects.append(Edit(key=f"{key}/set/{run.version + 1}", post=key, card=gate_card(run, pipeline, run.gate)))
    return run, tuple(effects)


def _override(run: Run, values: dict[str, Value], coming: Iterable[StageSpec]) -> Run:
    known: set[str] = set()
    for spec in coming:
        mine = {p.name: values[p.name] for p in spec.params if p.name in values}
        known |= set(mine)
        if mine:
            stage = run.stage(spec.id)
            run = run.with_stage(replace(stage, overrides={**stage.overrides, **mine}))
    if unknown := set(values) - known:
        raise WrongState(f"no stage that this order starts has a setting {', '.join(sorted(unknown))}")
    return run


def retry(run: Run, order: events.Retry, pipeline: Pipeline) -> Moved:
    """Launch the stage again on what it left. With other values it is not what its gate was passed for."""
    changed = _override(run, order.set, (pipeline.stage(run.at),))
    gated = pipeline.gated(run.at).id
    if changed.stages != run.stages and needed_for(changed, gated, pipeline) > 1:
        return _start_again(changed, gated, order, pipeline, run)
    return start(changed, run.at, order.by, order.at, order.undo_s, pipeline, before=run)


def extend(run: Run, order: events.Extend, pipeline: Pipeline) -> Moved:
    """Make more samples: the stages that make them run again with a larger bound, on what they left."""
    changed = run
    for stage_id, bound in extension(run, pipeline, order.add).items():
        changed = _override(changed, {EXTENDED: bound}, (pipeline.stage(stage_id),))
    first = extended_stages(pipeline)[0].id
    if run.gate is not None and run.gate.after is None:  # nothing was made yet: only the plan changes
        return override(run, events.Override(at=order.at, by=order.by, set={EXTENDED: bound}), pipeline)
    changed, effects = _start_again(changed, first, order, pipeline, run)
    return changed, (*_left(run, f"more samples are made, by order of {words.person(order.by)}", pipeline), *effects)


def _left(run: Run, said: str, pipeline: Pipeline) -> tuple[Effect, ...]:
    """The gate that the run goes away from, without its buttons."""
    if run.gate is None:
        return ()
    key, card = gate_key(run, run.gate), stripped(gate_card(run, pipeline, run.gate), f"overtaken: {said}")
    return (Edit(key=f"{key}/used", post=key, card=card),)


def _start_again(changed: Run, stage_id: str, order: events.Ordered, pipeline: Pipeline, before: Run) -> Moved:
    """Start a stage once more; where more than one person has to pass its gate, open that gate instead."""
    if needed_for(changed, stage_id, pipeline) < 2:
        return start(changed, stage_id, order.by, order.at, order.undo_s, pipeline, before=before)
    run, effects = open_gate(changed, stage_id, order.at, pipeline, again=True)
    if run.gate is None:
        raise WrongState(f"{stage_id} has no gate")
    gate = replace(run.gate, passed_by=((order.by, order.at.isoformat()),))
    run = replace(run, gate=gate)
    return run, (*effects, counted(run, gate, pipeline))


def bench_again(run: Run, order: events.Bench, pipeline: Pipeline) -> Moved:
    """A further benchmark of a run that has a drafter."""
    spec = bench_stage(pipeline)
    before = pipeline.before(spec.id)
    if before is not None and not run.stage(before.id).stands:
        raise WrongState(f"{run.id} has nothing to benchmark: {before.id} is {run.stage(before.id).state}")
    changed = _override(run, order.set, (spec,))
    changed, effects = _start_again(changed, spec.id, order, pipeline, run)
    return changed, (*_left(run, f"measured again, by order of {words.person(order.by)}", pipeline), *effects)


def bench_at_gate(run: Run, order: events.Bench, pipeline: Pipeline) -> Moved:
    """At the gate before the benchmark, "bench it" is the order that passes it; behind it, one more is made."""
    spec = bench_stage(pipeline)
    if run.gate is not None and pipeline.leads_to(run.gate.before, spec.id):
        passing = events.Advance(at=order.at, by=order.by, undo_s=order.undo_s, said=order.said, set=order.set)
        return advance(run, passing, pipeline)
    if run.benched(pipeline):
        return bench_again(run, order, pipeline)
    raise WrongState(f"{run.id} is not at its benchmark yet: it waits before {run.gate.before if run.gate else run.at}")


def bench_stage(pipeline: Pipeline) -> StageSpec:
    """The stage that measures. Raises WrongState when the pipeline has none."""
    if pipeline.measuring is None:
        raise WrongState(f"pipeline {pipeline.name} has no benchmark")
    return pipeline.measuring


def waive(run: Run, order: events.Waive, pipeline: Pipeline) -> Moved:
    """Accept what the evidence contradicts. The gate still has to be passed."""
    stage = replace(run.stage(run.at), waived_by=order.by, waived_why=order.reason)
    text = f"Evidence of {run.at} waived by {words.person(order.by)}: {escape(order.reason)}"
    run, effects = proven(run.with_stage(stage), run.at, order.at, pipeline, state="waived", undo_s=order.undo_s)
    return run, (Post(key=f"{run.id}/waived/{run.at}/{run.version + 1}", card=say(text)), *effects)


def ask_cancel(run: Run, order: events.AskCancel, pipeline: Pipeline) -> Moved:
    """A cancel is asked once more."""
    attempt = run.current
    far = f" at {attempt.percent:.0f} %" if attempt and attempt.percent is not None else ""
    title = escape(pipeline.stage(run.at).title)
    text = f"Cancel {run.id} *{title}*{far}? What it has made is kept. Reply `yes` or `no`."
    version = run.version + 1
    question = Question(kind="cancel_confirm", proposed="CANCEL", asked_at=order.at, asked_of=order.by, version=version)
    yes, no = (Click(run=run.id, action=action, version=version) for action in ("cancel_yes", "cancel_no"))
    buttons = Buttons(buttons=(button(yes, f"Cancel {title}"[:75], "danger"), button(no, "Keep it running")))
    card = Card(fallback=text, parts=(Text(text=text), buttons))
    return replace(run, question=question), (Post(key=f"{run.id}/cancel/{version}", card=card),)


def cancel(run: Run, order: events.Cancel, pipeline: Pipeline) -> Moved:
    """Confirmed: end every attempt of this run."""
    text = f"Cancelling {escape(pipeline.stage(run.at).title)}, by {words.person(order.by)}."
    effects: list[Effect] = [
        Kill(key=f"{a.id}/kill/{run.version + 1}", attempt=a.id, grace_s=GRACE_S) for a in run.live
    ]
    if run.question is not None:
        asked = f"{run.id}/cancel/{run.question.version}"
        effects.append(Edit(key=f"{asked}/answered", post=asked, card=say(text)))
    else:
        effects.append(Post(key=f"{run.id}/cancelling/{run.version + 1}", card=say(text)))
    return replace(run, phase=Phase.CANCELLING, question=None, armed=None), tuple(effects)


def decline(run: Run, order: events.Decline, pipeline: Pipeline) -> Moved:
    """No: the question is withdrawn, nothing changes."""
    if run.question is None:
        return run, ()
    asked = f"{run.id}/cancel/{run.question.version}"
    text = f"Left as it is, by {words.person(order.by)}."
    return replace(run, question=None), (Edit(key=f"{asked}/answered", post=asked, card=say(text)),)
