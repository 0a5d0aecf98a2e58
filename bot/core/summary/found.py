"""What the machine shows now, in one line: the answer to every claim."""

from datetime import datetime

from bot.core.attempt import Attempt, AttemptState
from bot.core.cards import escape
from bot.core.model import Phase, Run
from bot.core.pipeline import Pipeline
from bot.core.summary import evidence, words
from bot.core.summary.status import progress_line, standing

_ALIVE = (AttemptState.RUNNING, AttemptState.QUEUED, AttemptState.LAUNCHING, AttemptState.STALLED)


def line(run: Run, pipeline: Pipeline, now: datetime) -> str:
    """r12 extraction: ███░ 37 % · 3,330/9,000 samples · process 4711 alive on box1, seen 16:37."""
    attempt, title = run.current, escape(pipeline.stage(run.at).title)
    if attempt is None or run.phase not in (Phase.RUNNING, Phase.VERIFYING, Phase.CANCELLING, Phase.BLOCKED):
        return f"{run.id} {standing(run, pipeline, now)}"
    head = f"{run.id} *{title}*"
    if run.phase is Phase.VERIFYING:
        return f"{head}: {_looking(run, attempt)}"
    if attempt.state is AttemptState.UNKNOWN:
        return f"{head}: {unreachable(attempt, now)}"
    if attempt.state in _ALIVE:
        alive = f"process {attempt.pid} alive" if attempt.pid else attempt.state.value
        return f"{head}: {progress_line(attempt)} · {alive} on {escape(attempt.host)}{_seen(attempt)}"
    made = run.stage(run.at).evidence
    checked = f" · {evidence.brief(made)}" if made and made.get("verdict") != "proven" else ""
    how = "adopted" if attempt.adopted else f"{attempt.state.value}, exit code {attempt.rc}"
    return f"{head}: {how}{checked}"


def already(run: Run, pipeline: Pipeline, now: datetime) -> str:
    """Who was quicker, when, and what the machine shows: the answer to an order that comes too late."""
    ordered = run.latest_order
    who = ""
    if ordered is not None:
        title = escape(pipeline.stage(ordered.stage).title)
        verb = "started" if ordered is run.started else "has ordered"
        who = f"{words.person(ordered.by)} {verb} *{title}* {words.ago(ordered.at)}.\n"
    return f"{who}{line(run, pipeline, now)}\n_Nothing was changed._"


def _looking(run: Run, work: Attempt) -> str:
    """Exit code 0, 240/240 samples; evidence is being made, 40 % of it."""
    look = run.stage(run.at).latest()
    far = f" ({look.percent:.0f} %)" if look is not None and look is not work and look.percent is not None else ""
    if work.adopted:
        return f"adopted: {escape(work.adopted)} · its output is being verified{far}"
    done = progress_line(work) if work.progress else f"exit code {work.rc}"
    return f"ended with exit code {work.rc} · {done} · its output is being verified{far}"


def unreachable(attempt: Attempt, now: datetime) -> str:
    """box1 unreachable for 12 m, since 19:02; last seen at 58 %."""
    since = attempt.unknown_since or now
    far = f", at {attempt.percent:.0f} %" if attempt.percent is not None else ""
    last = f"; last seen {words.moment(attempt.seen_at)}{far}" if attempt.seen_at else "; never seen yet"
    lost = words.duration((now - since).total_seconds())
    return f"*{escape(attempt.host)} unreachable for {lost}*, since {words.moment(since)}{last}"


def _seen(attempt: Attempt) -> str:
    return f", seen {words.moment(attempt.seen_at)}" if attempt.seen_at else ""
