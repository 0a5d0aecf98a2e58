"""The moves that several transitions share: start a stage, verify it, open a gate, finish."""

from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.attempt import Attempt, Purpose
from bot.core.cards import Buttons, Card, Text, escape
from bot.core.clicks import Click, button
from bot.core.effects import Effect, Launch, Post, Upload
from bot.core.errors import WrongState
from bot.core.model import Gate, Phase, Run, Started, Starting
from bot.core.pipeline import Pipeline, StageSpec, seconds_of, settings_of
from bot.core.summary import evidence as evidence_summary
from bot.core.summary import words
from bot.core.summary.gate import gate_card
from bot.core.summary.results import bench_history, result_parts

Moved = tuple[Run, tuple[Effect, ...]]


def start(
    run: Run, stage_id: str, by: str, at: datetime, undo_s: float, pipeline: Pipeline, before: Run | None = None
) -> Moved:
    """Launch the stage's next work attempt, after the undo window when there is one.

    `before` is the run as the order found it: its settings come back should the order be taken back.
    """
    kept = tuple((stage.id, stage.overrides) for stage in (before or run).stages)
    run, attempt = new_attempt(run, stage_id, "work", by, at, pipeline)
    until = at + timedelta(seconds=undo_s)
    launch = Launch(key=f"{attempt.id}/launch", attempt=attempt.id, not_before=until)
    if undo_s <= 0:
        return begin(replace(run, at=stage_id), attempt, at), (launch,)
    starting = Starting(by=by, at=at, until=until, attempt=attempt.id, back=run.phase, was_at=run.at, kept=kept)
    run = replace(run, phase=Phase.STARTING, at=stage_id, starting=starting, armed=None)
    return run, (launch, Post(key=f"{attempt.id}/starting", card=starting_card(run, pipeline)))


def begin(run: Run, attempt: Attempt, at: datetime) -> Run:
    """From here on the attempt may exist on the host: the gate is behind us, what follows has to be made anew."""
    for stage in run.stages:
        if run.precedes(attempt.stage, stage.id) and stage.state != "pending":
            run = run.with_stage(replace(stage, state="pending", waived_by="", waived_why=""))
    mine = replace(run.stage(attempt.stage), state="active", waived_by="", waived_why="")
    armed = run.armed if run.armed and not run.precedes(run.armed.stage, attempt.stage) else None
    return replace(
        run.with_stage(mine),
        phase=Phase.RUNNING,
        at=attempt.stage,
        gate=None,
        starting=None,
        armed=armed,
        question=None,
        started=Started(by=attempt.started_by, at=at, stage=attempt.stage),
        ended_at=None,
    )


def new_attempt(
    run: Run, stage_id: str, purpose: Purpose, by: str, at: datetime, pipeline: Pipeline
) -> tuple[Run, Attempt]:
    """The stage's next attempt; evidence attempts are numbered below the work that they look at."""
    spec, stage = pipeline.stage(stage_id), run.stage(stage_id)
    work = stage.latest("work")
    if purpose == "work" or work is None:
        last = stage.newest("work")
        n = (last.n if last else 0) + 1
        name = f"{run.id}-{stage_id}-{n}"
        out = f"{{root}}/runs/{run.id}/{stage_id}" + (f"/{n}" if spec.own_out else "")
    else:
        n, out = work.n, work.out
        looks = sum(1 for a in stage.attempts if a.n == n and a.purpose == purpose)
        name = f"{run.id}-{stage_id}-{n}.{purpose}{looks + 1}"
    attempt = Attempt(
        id=name,
        stage=stage_id,
        n=n,
        purpose=purpose,
        token=f"{name}.{run.seed}",
        host=work.host if work and purpose != "work" else spec.host,
        started_by=by,
        created_at=at,
        out=out,
        settings=settings_of(spec, stage.overrides),
    )
    return run.with_attempt(attempt), attempt


def look(run: Run, stage_id: str, purpose: Purpose, by: str, at: datetime, pipeline: Pipeline) -> Moved:
    """Have the host make evidence: full (verify) or quick (check)."""
    run, attempt = new_attempt(run, stage_id, purpose, by, at, pipeline)
    phase = Phase.CHECKING if purpose == "check" else Phase.VERIFYING
    launch = Launch(key=f"{attempt.id}/launch", attempt=attempt.id, not_before=at)
    return replace(run, phase=phase), (launch,)


def open_gate(run: Run, before: str, at: datetime, pipeline: Pipeline, again: bool = False) -> Moved:
    """Wait for people before stage `before`, and say so with the evidence. `again`: its pictures were shown before."""
    spec, after = pipeline.stage(before), pipeline.before(before)
    if spec.gate is None:
        raise ValueError(f"stage {before} has no gate")
    gate = Gate(
        before=before,
        after=after.id if after else None,
        leads_to=pipeline.led_to(before)[-1].id,
        opened_at=at,
        needed=needed_for(run, before, pipeline),
        roles=spec.gate.roles,
        version=run.version + 1,
    )
    run = replace(run, phase=Phase.WAITING, gate=gate, at=after.id if after else before, starting=None)
    effects: list[Effect] = [Post(key=gate_key(run, gate), card=gate_card(run, pipeline, gate), broadcast=True)]
    if after is not None and not again:
        effects += pictures(run, after.id)
    return run, tuple(effects)


def needed_for(run: Run, before: str, pipeline: Pipeline) -> int:
    """How many different people have to pass this gate, as dear as what is behind it has become."""
    spec = pipeline.stage(before).gate
    if spec is None:
        return 1
    seconds = sum(seconds_of(stage, run.stage(stage.id).overrides) for stage in pipeline.led_to(before))
    dear = spec.second_above_s is not None and seconds > spec.second_above_s
    return max(spec.needed, 2 if dear else 1)


def next_gate(run: Run, pipeline: Pipeline) -> StageSpec:
    """The stage behind the gate that is open or comes next. Raises WrongState when none comes."""
    if run.gate is not None:
        return pipeline.stage(run.gate.before)
    coming = pipeline.stages[pipeline.index(run.at) + 1 :]
    found = next((spec for spec in coming if spec.gate is not None), None)
    if found is None:
        raise WrongState(f"no gate follows {run.at}")
    return found


def gate_key(run: Run, gate: Gate) -> str:
    """The key under which a gate's card is posted."""
    return f"{run.id}/gate/{gate.before}/{gate.version}"


def pictures(run: Run, stage_id: str) -> list[Effect]:
    """The evidence's pictures, shown in the thread."""
    stage = run.stage(stage_id)
    work = stage.latest("work")
    made = stage.evidence or {}
    return [
        Upload(
            key=f"{work.id}/picture/{run.version + 1}/{i}", host=work.host, path=str(path), title=f"{run.id} {stage_id}"
        )
        for i, path in enumerate(made.get("pictures", [])[:3])
        if work is not None
    ]


def proven(
    run: Run, stage_id: str, at: datetime, pipeline: Pipeline, state: str = "proven", undo_s: float = 0.0
) -> Moved:
    """The stage's output stands (proven, or waived by a person): go on to what follows."""
    stage = replace(run.stage(stage_id), state="waived" if state == "waived" else "proven")
    run = replace(run.with_stage(stage), at=stage_id)
    following = pipeline.after(stage_id)
    if following is None:
        return finish(run, stage_id, at, pipeline)
    by = run.armed.by if run.armed else (run.started.by if run.started else run.owner)
    if following.gate is None:
        run, effects = start(run, following.id, by, at, undo_s, pipeline)
        return run, (*_passing(run, stage_id, following.title), *effects)
    return open_gate(run, following.id, at, pipeline)


def _passing(run: Run, stage_id: str, next_title: str) -> tuple[Effect, ...]:
    stage = run.stage(stage_id)
    work = stage.latest("work")
    if work is None:
        return ()
    checked = evidence_summary.brief(stage.evidence) if stage.evidence else "no checks"
    text = f"✅ *{escape(stage_id)}* finished · {checked}. Going on with *{escape(next_title)}*."
    card = Card(fallback=f"{run.id} {stage_id} finished", parts=(Text(text=text), *result_parts(work)))
    return (Post(key=f"{work.id}/passed", card=card),)


def finish(run: Run, stage_id: str, at: datetime, pipeline: Pipeline) -> Moved:
    """The last stage stands: say what came of it, to whoever started it and to the owner."""
    run = replace(run, phase=Phase.DONE, ended_at=at, gate=None, armed=None, starting=None)
    stage = run.stage(stage_id)
    work = stage.latest("work")
    by = work.started_by if work else run.owner
    measuring = pipeline.measuring
    parts = [*(bench_history(run.stage(measuring.id)) if measuring else ())]
    if work is not None and (measuring is None or measuring.id != stage_id):
        parts = [*result_parts(work), *parts]
    if stage.evidence:
        parts += evidence_summary.parts(stage.evidence)
    again = Click(run=run.id, action="bench", version=run.version + 1, argument=run.moment)
    says = "Reply `bench it` to measure again (`bench with steps 5`), or `status`." if measuring else "Reply `status`."
    card = Card(
        title=f"{run.id}: {pipeline.stage(stage_id).title} finished, all stages done",
        fallback=f"{run.id} {run.title}: all stages done.",
        parts=(
            *parts,
            Text(text=says),
            *((Buttons(buttons=(button(again, "Bench again"),)),) if measuring else ()),
        ),
        mentions=run.told(by),
    )
    number = work.n if work else 0
    post = Post(key=f"{run.id}/done/{stage_id}/{number}", card=card, broadcast=True, sealed=True)
    return run, (post, *pictures(run, stage_id))


def starting_card(run: Run, pipeline: Pipeline) -> Card:
    """Said at once after an accepted order, with the way back."""
    starting = run.starting
    if starting is None:
        raise ValueError(f"{run.id} is not starting")
    names = ", then ".join(f"*{escape(spec.title)}*" for spec in pipeline.led_to(run.at))
    seconds = (starting.until - starting.at).total_seconds()
    chosen = words.settings(run.stage(run.at).overrides)
    text = f"Starting {names} in {words.duration(seconds)}, by {words.person(starting.by)}" + (
        f" · {chosen}" if chosen else ""
    )
    text += ". Say `wait` to stop it."
    back = Click(run=run.id, action="undo", version=run.version + 1, argument=starting.attempt)
    return Card(fallback=text, parts=(Text(text=text), Buttons(buttons=(button(back, "Cancel", "danger"),))))
