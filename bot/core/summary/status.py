"""The status card: the parent of a run's thread, edited in place."""

from datetime import datetime

from bot.core.attempt import Attempt, AttemptState
from bot.core.cards import Card, Part, Small, StageLine, StageMark, Stages, Text, escape
from bot.core.model import Phase, Run, StageRun
from bot.core.pipeline import Pipeline, StageSpec
from bot.core.summary import disk, words

SPREAD_SHARE = 0.2  # a narrower spread of the remaining time is not worth the room

_MARKS: dict[str, StageMark] = {
    "pending": "pending",
    "active": "in_progress",
    "proven": "complete",
    "waived": "complete",
    "blocked": "error",
    "failed": "error",
    "cancelled": "error",
}


def status_card(run: Run, pipeline: Pipeline, now: datetime) -> Card:
    """Stage list with progress, what is waited for, what the host shows."""
    lines = tuple(_stage_line(run, spec, now) for spec in pipeline.stages)
    headline = f"*{run.id}* · {escape(run.title)} · {standing(run, pipeline, now)}"
    parts: list[Part] = [Text(text=headline), Stages(title=f"{run.id} {run.title}"[:140], lines=lines)]
    facts = _facts(run, now)
    return Card(
        fallback=f"{run.id} {run.title}: {run.phase.value}",
        parts=(*parts, Small(text=facts)) if facts else tuple(parts),
    )


def standing(run: Run, pipeline: Pipeline, now: datetime) -> str:
    """Where the run stands, in one line of mrkdwn."""
    title = escape(pipeline.stage(run.at).title)
    since = words.moment(run.phase_since)
    attempt = run.current
    if run.gate is not None and run.phase in (Phase.WAITING, Phase.HELD):
        what = f"after {escape(pipeline.stage(run.gate.after).title)}" if run.gate.after else "at the plan"
        if run.phase is Phase.HELD:
            return f"on hold {what} by {words.person(run.gate.held_by)}"
        return f"waits {what} for {_who(run)}, since {since}"
    if attempt is not None and attempt.state is AttemptState.UNKNOWN and run.phase in _AT_WORK:
        lost_for = words.duration((now - (attempt.unknown_since or now)).total_seconds())
        return f"*{escape(attempt.host)} unreachable for {lost_for}*: state unknown, nothing restarted"
    said = {
        Phase.CHECKING: f"the evidence of {title} is being checked once more{_by(run)}",
        Phase.STARTING: f"{title} starts in a moment{_by(run)}",
        Phase.RUNNING: f"{title} runs",
        Phase.VERIFYING: f"{title} ended, its output is being verified",
        Phase.BLOCKED: f"*{title}: not proven*, waits for a decision",
        Phase.FAILED: f"*{title} failed*",
        Phase.CANCELLING: f"{title} is being cancelled",
        Phase.CANCELLED: f"{title} cancelled",
        Phase.DONE: "all stages done",
    }
    return said.get(run.phase, run.phase.value)


def _by(run: Run) -> str:
    ordered = run.latest_order
    return f", by order of {words.person(ordered.by)}" if ordered else ""


_AT_WORK = (Phase.RUNNING, Phase.VERIFYING, Phase.CANCELLING)


def _who(run: Run) -> str:
    roles = run.gate.roles if run.gate else ()
    return "an " + " or ".join(roles) if roles else "an operator"


def _stage_line(run: Run, spec: StageSpec, now: datetime) -> StageLine:
    stage = run.stage(spec.id)
    return StageLine(id=spec.id, title=spec.title, mark=_MARKS[stage.state], detail=_detail(stage, now))


def _detail(stage: StageRun, now: datetime) -> str:
    attempt = stage.latest("work")
    if attempt is None:
        return ""
    if stage.state == "active":
        check = stage.latest()
        if check is not None and check.purpose != "work" and not check.state.over:
            return "verifying" + (f" {check.percent:.0f} %" if check.percent is not None else "")
        return progress_line(attempt)
    took = attempt_duration(attempt)
    told = [
        stage.state if stage.state in ("failed", "cancelled", "waived") else "",
        "adopted" if attempt.adopted else "",
        words.duration(took) if took else "",
    ]
    if attempt.n > 1:
        told.append(f"attempt {attempt.n}")
    if stage.state == "blocked":
        told.insert(0, "not proven")
    return " · ".join(part for part in told if part)


def attempt_duration(attempt: Attempt) -> float | None:
    """Seconds between start and end as the host's files say."""
    start, end = words.parse_time(attempt.started_at), words.parse_time(attempt.ended_at)
    return (end - start).total_seconds() if start and end else None


def progress_line(attempt: Attempt) -> str:
    """███░ 71 % · 7,102/10,000 samples · 1.5 samples/s · 2,538 tokens/s · ETA 32 m."""
    if attempt.state in (AttemptState.LAUNCHING, AttemptState.QUEUED):
        turn_at = words.parse_time(attempt.until)
        until = f", until about {words.moment(turn_at)} as that reckons" if turn_at else ""
        return attempt.state.value + (f": {escape(attempt.why)}{until}" if attempt.why else "")
    told: list[str] = []
    if attempt.state is AttemptState.STALLED:
        told.append(f"*stalled*: log, CPU and GPUs idle for {words.duration(attempt.idle_s)}")
    status, percent = attempt.status or {}, attempt.percent
    if percent is not None:
        told.append(f"{words.bar(percent)} {percent:.0f} %")
    progress = attempt.progress
    if progress is not None:
        done, total, unit = progress
        told.append(
            f"{words.count(done)}/{words.count(total)} {escape(unit)}"
            if total
            else f"{words.count(done)} {escape(unit)}"
        )
    told += _rates(status.get("rates") or {})
    told += _eta(status.get("eta_s") or {})
    if not told and status.get("message"):
        told.append(escape(str(status["message"]))[:120])
    return " · ".join(told) or attempt.state.value


def _rates(rates: dict[str, object]) -> list[str]:
    told = []
    for key, unit in (("samples_s", "samples/s"), ("tokens_s", "tokens/s"), ("bytes_s", "")):
        rate = rates.get(key)
        if isinstance(rate, int | float) and rate:
            told.append(f"{words.size(rate)}/s" if key == "bytes_s" else f"{words.count(round(rate, 2))} {unit}")
    return told


def _eta(eta_s: dict[str, object]) -> list[str]:
    """ETA 32 m; with its spread where that is wide: ETA 32 m (25 to 48 m)."""
    low, likely, high = (eta_s.get(name) for name in ("low", "likely", "high"))
    if not isinstance(likely, int | float):
        return []
    said = f"ETA {words.duration(likely)}"
    if isinstance(low, int | float) and isinstance(high, int | float) and high - low > SPREAD_SHARE * likely:
        said += f" ({words.duration(low)} to {words.duration(high)})"
    return [said]


def _facts(run: Run, now: datetime) -> str:
    told = []
    attempt = run.current
    if attempt is not None and not attempt.state.over:
        if projection := disk.line(attempt, now):
            told.append(projection)
        if attempt.log_age_s is not None:
            told.append(f"last log {words.duration(attempt.log_age_s)} ago")
        told.append(f"on {escape(attempt.host)}, attempt {attempt.n}")
        if attempt.seen_at and (now - attempt.seen_at).total_seconds() > 60:
            told.append(f"last seen {words.moment(attempt.seen_at)}")
    if run.armed is not None:
        told.append(
            f"goes on by itself once {run.armed.stage} is proven"
            f" (armed by {words.person(run.armed.by)}; `hold` takes it back)"
        )
    if run.started is not None:
        told.append(f"{run.started.stage} started by {words.person(run.started.by)} at {words.moment(run.started.at)}")
    return " · ".join(told)
