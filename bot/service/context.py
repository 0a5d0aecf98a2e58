"""The moment a message was sent, as the reader sees it: built from stored state alone."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.core.attempt import AttemptState
from bot.core.inbound import InboundEvent
from bot.core.model import Phase, Run
from bot.core.pipeline import Param, Pipeline, StageSpec, suites_of
from bot.core.reading import context as words
from bot.core.reading.context import Context, ParamSpec, PipelineView, Place, RunView, StageView

QUESTION_LIVES_S = 15 * 60.0

_PHASES = {
    Phase.WAITING: words.Phase.WAITING,
    Phase.HELD: words.Phase.HELD,
    Phase.CHECKING: words.Phase.CHECKING,
    Phase.STARTING: words.Phase.STARTING,
    Phase.RUNNING: words.Phase.RUNNING,
    Phase.VERIFYING: words.Phase.CHECKING,
    Phase.BLOCKED: words.Phase.BLOCKED,
    Phase.FAILED: words.Phase.FAILED,
    Phase.CANCELLING: words.Phase.RUNNING,
    Phase.CANCELLED: words.Phase.CANCELLED,
    Phase.DONE: words.Phase.DONE,
}


def run_view(run: Run, pipeline: Pipeline, hosts: Sequence[str], now: datetime) -> RunView:
    """One run in the reader's terms."""
    attempt = run.current
    gate, ordered = run.gate, run.latest_order
    done, total, _ = (attempt.progress if attempt else None) or (None, None, "")
    next_at = pipeline.index(gate.before if gate else run.at)
    coming = pipeline.stages[next_at:]
    again = tuple(spec for spec in pipeline.stages[:next_at] if spec.measures)  # may be run again with other values
    return RunView(
        id=run.id,
        phase=_phase(run),
        stages=stage_views(pipeline),
        names=(pipeline.name, *pipeline.names),
        stage=(gate.after if gate else run.at),
        gate_to=_gate_to(run, pipeline),
        done=int(done) if done is not None else None,
        total=int(total) if total else None,
        percent=attempt.percent if attempt else None,
        evidence=_shortfall(run),
        started_by=ordered.by if ordered else None,
        started_ago_s=(now - ordered.at).total_seconds() if ordered else None,
        held_by=gate.held_by or None if gate else None,
        held_ago_s=(now - gate.held_at).total_seconds() if gate and gate.held_at else None,
        armed=run.armed is not None,
        params=param_specs((*coming, *again), hosts),
        suites=tuple(name for spec in pipeline.stages if (p := suites_of(spec)) for name in p.choices),
    )


def _phase(run: Run) -> words.Phase:
    attempt = run.current
    if run.phase is Phase.WAITING and run.gate is not None and run.gate.after is None:
        return words.Phase.PLANNED
    if run.phase is Phase.VERIFYING and run.armed is None:
        return words.Phase.WAITING  # it has ended with 0: an order stands and waits for the proof
    if run.phase is Phase.RUNNING and attempt is not None:
        if attempt.state is AttemptState.UNKNOWN:
            return words.Phase.UNKNOWN
        if attempt.state is AttemptState.STALLED:
            return words.Phase.STALLED
        if attempt.percent is not None and attempt.percent >= 100:
            return words.Phase.SETTLING
    return _PHASES[run.phase]


def _gate_to(run: Run, pipeline: Pipeline) -> str | None:
    if run.gate is not None:
        return run.gate.leads_to
    coming = pipeline.stages[pipeline.index(run.at) + 1 :]
    gated = next((spec for spec in coming if spec.gate is not None), None)
    return pipeline.led_to(gated.id)[-1].id if gated else None


def _shortfall(run: Run) -> str | None:
    evidence = run.stage(run.at).evidence or {}
    for check in evidence.get("checks", []):
        if check.get("ok") is False and isinstance(check.get("found"), int) and isinstance(check.get("expected"), int):
            return f"{check['found']}/{check['expected']}"
    return None


def stage_views(pipeline: Pipeline) -> tuple[StageView, ...]:
    return tuple(
        StageView(
            id=spec.id,
            aliases=tuple(dict.fromkeys((spec.title.lower(), *spec.aliases))),
            role="bench" if spec.measures else "work",
        )
        for spec in pipeline.stages
    )


def param_specs(stages: Sequence[StageSpec], hosts: Sequence[str]) -> tuple[ParamSpec, ...]:
    """What chat may set for these stages."""
    return tuple(_param(p, spec.id) for spec in stages for p in spec.params if p.chat and p.type != "names")


def _param(param: Param, stage: str) -> ParamSpec:
    return ParamSpec(
        name=param.name,
        type=param.type,
        low=param.low,
        high=param.high,
        choices=param.choices,
        aliases=param.aliases,
        stage=stage,
    )


def pipeline_view(pipeline: Pipeline, hosts: Sequence[str]) -> PipelineView:
    return PipelineView(
        name=pipeline.name,
        stages=stage_views(pipeline),
        params=param_specs(pipeline.stages, hosts),
        models=(pipeline.name, *pipeline.names),
    )


def question_of(run: Run, speaker: str, now: datetime) -> words.PendingQuestion | None:
    """The open question of a run, while it is fresh."""
    asked = run.question
    if asked is None or (now - asked.asked_at).total_seconds() > QUESTION_LIVES_S:
        return None
    return words.PendingQuestion(
        kind=words.QuestionKind(asked.kind), proposed=asked.proposed, run=run.id, to_speaker=asked.asked_of == speaker
    )


def build(
    event: InboundEvent,
    *,
    runs: Sequence[Run],
    pipelines: Mapping[str, Pipeline],
    hosts: Sequence[str],
    thread_run: str | None,
    bot_user: str,
    allowed: bool,
    card_is_last: bool,
    quiet: bool,
    edited: words.EditedOrder | None,
    which: words.PendingQuestion | None,
    now: datetime,
) -> Context:
    """Put the context of one event together."""
    kinds = {"edit": words.Event.EDIT, "deletion": words.Event.DELETION, "reaction": words.Event.REACTION}
    here = [run for run in runs if run.pipeline in pipelines]
    place = Place.THREAD if thread_run else Place.DIRECT if event.channel_type == "im" else Place.CHANNEL
    if place is Place.DIRECT:
        here = [run for run in here if run.owner == event.user]
    asked = next((run for run in here if run.id == thread_run), None)
    return Context(
        runs=tuple(run_view(run, pipelines[run.pipeline], hosts, now) for run in here),
        place=place,
        thread_run=thread_run,
        mentioned=bool(bot_user) and f"<@{bot_user}" in event.text,
        bot_user=bot_user or None,
        event=kinds.get(event.kind, words.Event.MESSAGE),
        speaker=event.user,
        speaker_allowed=allowed,
        speaker_is_bot=bool(event.bot_id),
        age_s=max(0.0, (now - event.at).total_seconds()),
        card_is_last=card_is_last,
        quiet=quiet,
        question=question_of(asked, event.user, now) if asked else which,
        edited=edited,
        pipelines=tuple(pipeline_view(p, hosts) for p in pipelines.values()),
    )
