"""What is noticed of an attempt while it runs: that it does nothing any more, that its disk will not do."""

from dataclasses import replace

from bot.core import events
from bot.core.attempt import Attempt, AttemptState
from bot.core.cards import escape, say
from bot.core.effects import Edit, Effect, Post
from bot.core.model import Run
from bot.core.pipeline import Pipeline
from bot.core.summary import disk, words
from runner.protocol.view import AttemptView

BUSY_SHARE = 0.02  # of one CPU: what heartbeats and watchers take stays below
BUSY_PERCENT = 2.0  # of a GPU
MOST_A_POLL_S = 60.0  # a clock that jumps, or an hour without polls, is not an hour of idling


def judged(before: Attempt, attempt: Attempt, event: events.Seen, pipeline: Pipeline) -> Attempt:
    """The attempt with how long it has been idle; stalled once its log is old *and* CPU and GPUs are idle for long."""
    limit_s = pipeline.stage(attempt.stage).stall_s
    if attempt.state is not AttemptState.RUNNING or attempt.purpose != "work":
        return attempt
    attempt = replace(attempt, disk_warned=before.disk_warned or disk.fills_in_s(attempt) is not None)
    idle_s = 0.0
    if before.seen_at is not None and not is_busy(before, event, pipeline):
        passed_s = max(0.0, (event.at - before.seen_at).total_seconds())
        idle_s = min(before.idle_s + min(passed_s, MOST_A_POLL_S), event.view.log_age_s or 0.0)
    attempt = replace(attempt, idle_s=idle_s)
    if limit_s is None or idle_s < limit_s:
        return replace(attempt, stalled_at=None)
    return replace(attempt, state=AttemptState.STALLED, stalled_at=before.stalled_at or event.at)


def is_busy(before: Attempt, event: events.Seen, pipeline: Pipeline) -> bool:
    """Whether CPU, GPUs or progress moved since the last look."""
    view = event.view
    gpus = pipeline.stage(before.stage).gpus
    if any(event.gpu_percent.get(index, 0.0) >= BUSY_PERCENT for index in gpus):
        return True
    if done(view) != done_before(before):
        return True
    if view.cpu_s is None or before.cpu_s is None or before.seen_at is None:
        return True
    passed_s = (event.at - before.seen_at).total_seconds()
    return abs(view.cpu_s - before.cpu_s) > BUSY_SHARE * max(passed_s, 1.0)


def done(view: AttemptView) -> object:
    return ((view.status or {}).get("progress") or {}).get("done")


def done_before(attempt: Attempt) -> object:
    return ((attempt.status or {}).get("progress") or {}).get("done")


def noticed(before: Attempt, run: Run, attempt: Attempt, event: events.Seen, pipeline: Pipeline) -> list[Effect]:
    """What is said, once each: stalled, at work again, the disk will be full before the end."""
    effects: list[Effect] = []
    title = escape(pipeline.stage(attempt.stage).title)
    if attempt.stalled_at is not None and before.stalled_at is None:
        gpus = " and its GPUs" if pipeline.stage(attempt.stage).gpus else ""
        text = (
            f"⚠ *{title} seems stuck*: nothing new in its log for {words.duration(event.view.log_age_s or 0)}, its "
            f"processes{gpus} idle. Nothing was ended. Reply `logs`, `cancel`, or leave it."
        )
        effects.append(Post(key=stall_key(attempt), card=say(text, mentions=run.told(attempt.started_by))))
    if before.stalled_at is not None and attempt.stalled_at is None:
        since = words.moment(before.stalled_at)
        text = f"{title} seemed stuck from {since} on; at work again {words.moment(event.at)}."
        effects.append(Edit(key=f"{stall_key(before)}/over", post=stall_key(before), card=say(text)))
    if attempt.disk_warned and not before.disk_warned:
        text = f"⚠ {title}: {disk.line(attempt, event.at)}. Free some, or `cancel`; `retry` goes on from what is there."
        effects.append(Post(key=f"{attempt.id}/disk", card=say(text, mentions=run.told(attempt.started_by))))
    return effects


def stall_key(attempt: Attempt) -> str:
    return f"{attempt.id}/stalled/{int(attempt.stalled_at.timestamp()) if attempt.stalled_at else 0}"
