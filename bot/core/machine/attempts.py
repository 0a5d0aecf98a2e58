"""What the host's answers do to a run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.core import events
from bot.core.attempt import Attempt, AttemptState
from bot.core.cards import Card, escape, say
from bot.core.effects import DONE, REFUSED, WORKING, Edit, Effect, Post, React
from bot.core.errors import WrongState
from bot.core.logtext import newest_lines
from bot.core.machine import watching
from bot.core.machine.flow import Moved, begin, look, proven
from bot.core.machine.orders import checkable, counted, start_gated
from bot.core.masking import mask
from bot.core.model import Armed, Phase, Run
from bot.core.pipeline import Pipeline
from bot.core.summary import words
from bot.core.summary.failure import blocked_card, cancelled_card, failure_card, refused_card
from runner.protocol import records
from runner.protocol import view as seen_states
from runner.protocol.errors import ProtocolError
from runner.protocol.evidence import Check, Evidence, Subject
from runner.protocol.view import AttemptView

_STATES = {
    seen_states.QUEUED: AttemptState.QUEUED,
    seen_states.STARTED: AttemptState.RUNNING,
    seen_states.RUNNING: AttemptState.RUNNING,
    seen_states.EXITED: AttemptState.EXITED,
    seen_states.LOST: AttemptState.LOST,
    seen_states.CANCELLED: AttemptState.CANCELLED,
}


def launch_began(run: Run, event: events.LaunchBegan, pipeline: Pipeline) -> Moved:
    """The launch is being carried out. Taken back attempts never get here: their effect is withdrawn."""
    attempt = run.attempt(event.attempt)
    if run.starting is None or run.starting.attempt != attempt.id:
        return run, ()
    run = begin(run, attempt, event.at)
    by = words.person(attempt.started_by)
    text = f"Started {words.moment(event.at)}, attempt {attempt.n}, on {attempt.host}, by {by}."
    return run, (Edit(key=f"{attempt.id}/started", post=f"{attempt.id}/starting", card=say(text)),)


def launch_refused(run: Run, event: events.LaunchRefused, pipeline: Pipeline) -> Moved:
    """The host said no: nothing ran. Not so where it was seen to run: then only a repeat of the launch was refused."""
    before = run.attempt(event.attempt)
    if before.state.over or before.has_started:
        return run, ()
    attempt = replace(before, state=AttemptState.REFUSED, why=event.why, seen_at=event.at)
    run = run.with_attempt(attempt)
    if not awaited(run, attempt):
        return run, ()
    if run.phase is Phase.CANCELLING:
        view = AttemptView(attempt.id, seen_states.CANCELLED, why=event.why)
        return _stop(run, attempt, Phase.CANCELLED, cancelled_card(run, attempt, view, pipeline))
    if attempt.purpose == "work":
        return _stop(run, attempt, Phase.FAILED, refused_card(run, attempt, pipeline))
    return _unproven(run, attempt, None, pipeline)


_AWAITING = {
    "work": (Phase.RUNNING, Phase.CANCELLING),
    "verify": (Phase.VERIFYING, Phase.CANCELLING),
    "check": (Phase.CHECKING, Phase.CANCELLING),
}


def awaited(run: Run, attempt: Attempt) -> bool:
    """Whether the run waits for this attempt's end. A look that was taken back meanwhile, say, decides nothing."""
    newest = run.stage(run.at).latest()
    return run.phase in _AWAITING[attempt.purpose] and newest is not None and newest.id == attempt.id


def unreachable(run: Run, event: events.Unreachable, pipeline: Pipeline) -> Moved:
    """No answer: the state becomes unknown, once; everything is kept, nothing restarted."""
    attempt = run.attempt(event.attempt)
    if attempt.state.over or attempt.state is AttemptState.UNKNOWN:
        return run, ()
    attempt = replace(attempt, state=AttemptState.UNKNOWN, unknown_since=event.at, why=event.why)
    text = (
        f"⚠ {escape(attempt.host)} unreachable since {words.moment(event.at)}. State unknown, nothing restarted."
        f"\n{escape(event.why)[:600]}"
    )
    return run.with_attempt(attempt), (Post(key=_outage(attempt), card=say(text)),)


def _outage(attempt: Attempt) -> str:
    since = attempt.unknown_since
    return f"{attempt.id}/unreachable/{int(since.timestamp()) if since else 0}"


def seen(run: Run, event: events.Seen, pipeline: Pipeline) -> Moved:
    """The host told of an attempt: take it over, and go on when it has ended."""
    view = event.view
    before = run.attempt(view.attempt)
    if before.state.over:
        return run, ()
    attempt = watching.judged(before, taken_over(before, view, event), event, pipeline)
    effects = watching.noticed(before, run, attempt, event, pipeline)
    if before.unknown_since is not None and attempt.state is not AttemptState.UNKNOWN:
        far = f", {attempt.percent:.0f} %" if attempt.percent is not None else ""
        away = words.duration((event.at - before.unknown_since).total_seconds())
        text = (
            f"{escape(before.host)} reachable again {words.moment(event.at)}, after {away}: {attempt.state.value}{far}."
        )
        effects.append(Edit(key=f"{_outage(before)}/over", post=_outage(before), card=say(text)))
    run = run.with_attempt(attempt)
    if attempt.state.over:
        run, more = _ended(run, attempt, event, pipeline)
        effects += more
    return run, tuple(effects)


def taken_over(before: Attempt, view: AttemptView, event: events.Seen) -> Attempt:
    """The attempt as the host shows it now. Absent right after a launch that is under way changes nothing."""
    state = _STATES.get(view.state)
    why = view.why
    if view.state == seen_states.ABSENT:
        known = before.seen_at is not None
        state = AttemptState.LOST if known else AttemptState.LAUNCHING
        why = "its directory is gone from the host" if known else ""
    elif state is None:  # its records cannot be read: nothing is known
        return replace(before, state=AttemptState.UNKNOWN, why=why, unknown_since=before.unknown_since or event.at)
    read = 0 if view.log_reset else before.log_offset
    fresh = view.log[max(0, read - (view.log_offset - len(view.log))) :]  # two looks at once may tell the same
    lines, again = newest_lines("" if view.log_reset else before.log_tail, fresh)
    return replace(
        before,
        state=state,
        why=why,
        until=view.until,
        started_at=view.started_at or before.started_at,
        ended_at=view.ended_at or before.ended_at,
        rc=view.rc,
        signal=view.signal,
        pid=view.pid,
        seen_at=before.seen_at if view.state == seen_states.ABSENT else event.at,
        unknown_since=None,
        log_offset=max(read, view.log_offset - again) if view.log_offset else before.log_offset,
        log_age_s=view.log_age_s,
        cpu_s=view.cpu_s,
        log_tail=mask(view.log_tail or lines),  # before a card shows a part of it
        status=view.status or before.status,
        result=view.result or before.result,
        evidence=view.evidence or before.evidence,
        metrics=before.metrics | _newest(view.metrics),
        log_path=f"{event.root}/attempts/{before.id}/log.txt" if event.root else before.log_path,
    )


def _newest(lines: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The last figure of each name; NaN and infinities are none, and no store takes them."""
    found: dict[str, float] = {}
    for line in lines:
        found |= {name: figure for name, told in line.items() if (figure := records.number(told)) is not None}
    return found


def _ended(run: Run, attempt: Attempt, event: events.Seen, pipeline: Pipeline) -> Moved:
    if not awaited(run, attempt):
        return run, ()
    if attempt.purpose != "work":
        return _looked(run, attempt, event, pipeline)
    if run.phase is Phase.CANCELLING:
        return _stop(run, attempt, Phase.CANCELLED, cancelled_card(run, attempt, event.view, pipeline))
    if attempt.state is AttemptState.CANCELLED:
        return _stop(run, attempt, Phase.CANCELLED, cancelled_card(run, attempt, event.view, pipeline))
    if attempt.state is AttemptState.LOST or (attempt.rc != 0 and not attempt.adopted):
        return _stop(run, attempt, Phase.FAILED, failure_card(run, attempt, pipeline))
    if checkable(pipeline.stage(attempt.stage)):
        return look(run, attempt.stage, "verify", attempt.started_by, event.at, pipeline)
    made = Evidence(attempt.stage, Subject(attempt.out), [Check("exit", True, 0, 0)]).to_json()
    run = run.with_attempt(replace(attempt, evidence=made))
    return _proven(run, attempt.stage, event, pipeline)


def _looked(run: Run, attempt: Attempt, event: events.Seen, pipeline: Pipeline) -> Moved:
    """An evidence attempt ended. Its verdict counts only together with the exit code of the work."""
    if run.phase is Phase.CANCELLING:
        return _stop(run, attempt, Phase.CANCELLED, cancelled_card(run, attempt, event.view, pipeline))
    evidence = with_exit(attempt.evidence, run.stage(attempt.stage).latest("work"))
    spec = pipeline.stage(attempt.stage)
    if evidence is None and event.view.problems:
        attempt = replace(attempt, why=event.view.problems[-1])
    elif evidence is not None and evidence["stage"] not in {spec.id, spec.verb, *(spec.verify or ())}:
        why = f"its evidence is of {evidence['stage']!r:.60}, not of {spec.verb or spec.id}"
        attempt, evidence = replace(attempt, why=why), None
    if attempt.state is not AttemptState.EXITED or attempt.rc != 0:
        evidence = None
    run = run.with_attempt(replace(attempt, evidence=evidence))
    if evidence is None or evidence["verdict"] != "proven":
        return _unproven(run, attempt, evidence, pipeline)
    if attempt.purpose == "verify":
        return _proven(run, attempt.stage, event, pipeline)
    if run.armed is None or run.gate is None:
        raise WrongState(f"{run.id} checks its evidence for nobody")
    mark = reaction(run.armed, attempt, DONE)
    run, effects = start_gated(run, run.armed.by, event.undo_s, event, pipeline)
    return run, (*effects, *mark)


def reaction(armed: Armed | None, attempt: Attempt, name: str) -> tuple[Effect, ...]:
    """What became of the order that waited for this attempt, on the message it came by."""
    if armed is None or armed.said is None:
        return ()
    channel, ts = armed.said
    return (React(key=f"{attempt.id}/mark/{ts}", channel=channel, ts=ts, name=name, instead_of=WORKING),)


def with_exit(evidence: dict[str, Any] | None, work: Attempt | None) -> dict[str, Any] | None:
    """The host's evidence with the exit code of the work in front, where one is known. None when it cannot be read."""
    if evidence is None or work is None:
        return None
    try:
        made = Evidence.from_json(evidence)
    except ProtocolError:
        return None
    if work.adopted or any(check.name == "exit" for check in made.checks):
        return evidence
    first = Check("exit", work.rc == 0, work.rc, 0)
    return Evidence(made.stage, made.subject, [first, *made.checks], made.bad, made.pictures).to_json()


def _proven(run: Run, stage_id: str, event: events.Seen, pipeline: Pipeline) -> Moved:
    armed = run.armed
    run, effects = proven(run, stage_id, event.at, pipeline)
    opened = run.gate
    if armed is None or opened is None or opened.after != armed.stage:
        return run, effects
    run = replace(run, armed=None)
    latest = run.stage(stage_id).latest()
    mark = reaction(armed, latest, DONE) if latest else ()
    if short := _short_of(run.stage(stage_id).latest("work"), armed):
        text = (
            f"{words.person(armed.by)} wanted to go on at {short}. That was not reached, so nothing starts by itself."
        )
        return run, (*effects, Post(key=f"{run.id}/not-reached/{run.version + 1}", card=say(text)))
    gate = replace(opened, passed_by=((armed.by, armed.at.isoformat()),))
    run = replace(run, gate=gate)
    if len(gate.passed_by) < gate.needed:
        return run, (*effects, counted(run, gate, pipeline), *mark)
    run, more = start_gated(run, armed.by, event.undo_s, event, pipeline)
    return run, (*effects, *more, *mark)


def _short_of(work: Attempt | None, armed: Armed) -> str:
    """The milestone that an armed order names and the stage did not reach, "" when it did."""
    done, _, unit = (work.progress if work else None) or (0.0, None, "")
    for name, wanted in armed.when.items():
        reached = (work.percent if work else None) if name == "percent" else done if name == unit else None
        if reached is None or reached < wanted:
            return words.milestone({name: wanted})
    return ""


def _unproven(run: Run, attempt: Attempt, evidence: dict[str, Any] | None, pipeline: Pipeline) -> Moved:
    stage = replace(run.stage(attempt.stage), state="blocked")
    mark = reaction(run.armed, attempt, REFUSED)
    run = replace(run.with_stage(stage), phase=Phase.BLOCKED, at=attempt.stage, gate=None, armed=None)
    card = blocked_card(run, attempt, evidence, pipeline)
    return run, (Post(key=f"{attempt.id}/blocked", card=card, broadcast=True), *mark)


def _stop(run: Run, attempt: Attempt, phase: Phase, card: Card) -> Moved:
    stage = replace(run.stage(attempt.stage), state="cancelled" if phase is Phase.CANCELLED else "failed")
    run = replace(run.with_stage(stage), phase=phase, at=attempt.stage, armed=None, question=None, starting=None)
    return run, (Post(key=f"{attempt.id}/{phase.value}", card=card, broadcast=True),)
