"""Cards for what went wrong: what broke, the last log lines, where the whole log is, what may be replied."""

from typing import Any

from bot.core.attempt import Attempt, AttemptState
from bot.core.cards import Buttons, Card, Part, Small, Text, escape
from bot.core.clicks import Click, button
from bot.core.model import Run
from bot.core.pipeline import Pipeline
from bot.core.summary import evidence as evidence_summary
from bot.core.summary.status import attempt_duration, progress_line
from bot.core.summary.words import duration
from runner.protocol.view import AttemptView

_TAIL = 1500


def failure_card(run: Run, attempt: Attempt, pipeline: Pipeline) -> Card:
    """A work attempt that exited non-zero, was killed or lost."""
    title = pipeline.stage(attempt.stage).title
    took = attempt_duration(attempt)
    after = f" after {duration(took)}" if took is not None else ""
    error = (attempt.status or {}).get("error") or {}
    lines = [f"*{_ending(attempt)}*{after}"]
    if error.get("message"):
        lines.append(f"{escape(str(error.get('kind')))}: {escape(str(error['message']))}")
    if error.get("hint"):
        lines.append(f"Hint: {escape(str(error['hint']))}")
    if attempt.progress is not None:
        lines.append(f"Last progress: {progress_line(attempt)}")
    if (attempt.status or {}).get("resume"):
        lines.append(f"A retry goes on from {escape(str((attempt.status or {})['resume']))}")
    return _card(run, attempt, f"{run.id}: {title} failed", "\n".join(lines), "`retry` (goes on from what is there)")


def _ending(attempt: Attempt) -> str:
    if attempt.state is AttemptState.LOST:
        return f"Lost: {escape(attempt.why or 'no trace of the process')}"
    if attempt.signal:
        return f"Ended by signal {attempt.signal}" + (f" ({escape(attempt.why)})" if attempt.why else "")
    return f"Exit code {attempt.rc}" + (f" ({escape(attempt.why)})" if attempt.why else "")


def refused_card(run: Run, attempt: Attempt, pipeline: Pipeline) -> Card:
    """The host would not start it."""
    title = pipeline.stage(attempt.stage).title
    said = f"{escape(attempt.host)} refused to start it: *{escape(attempt.why)}*\nNothing was started."
    return _card(run, attempt, f"{run.id}: {title} was not started", said, "`retry`, once that is mended")


def blocked_card(run: Run, attempt: Attempt, evidence: dict[str, Any] | None, pipeline: Pipeline) -> Card:
    """The stage ended, but its output is not proven."""
    title = pipeline.stage(attempt.stage).title
    heading = f"{run.id}: {title} is not proven"
    replies = "`retry` (repairs what is bad, then checks again), `waive because …` (recorded), or `hold`"
    if evidence is None:
        why = f"Its evidence could not be made: {_ending(attempt) if attempt.rc or attempt.why else 'none was written'}"
        return _card(run, attempt, heading, why + "\nNothing was started.", replies)
    found = f"{evidence_summary.brief(evidence)}\nNothing was started."
    return _card(run, attempt, heading, found, replies, evidence_summary.parts(evidence))


def cancelled_card(run: Run, attempt: Attempt, view: AttemptView, pipeline: Pipeline) -> Card:
    """An order ended it."""
    title = pipeline.stage(attempt.stage).title
    if view.survivors:
        pids = ", ".join(map(str, view.survivors[:20]))
        said = f"*Still alive: process {pids}*. End them by hand before a retry."
    elif attempt.state is AttemptState.EXITED:
        said = f"It had already ended ({_ending(attempt)}) when the cancel arrived."
    else:
        said = "Every process of it is gone; what it made is kept."
    return _card(run, attempt, f"{run.id}: {title} cancelled", said, "`retry` (goes on from what is there)")


def _card(run: Run, attempt: Attempt, title: str, said: str, replies: str, more: tuple[Part, ...] = ()) -> Card:
    parts: list[Part] = [Text(text=said), *more]
    tail = escape(attempt.log_tail[-_TAIL:]).strip()
    if tail and not more:
        parts.append(Text(text=f"Last log lines\n```{tail}```"))
    newest = run.stage(attempt.stage).newest("work")
    if attempt.log_path:
        parts.append(Small(text=f"whole log: {escape(f'{attempt.host}:{attempt.log_path}')}"))
    parts.append(Text(text=f"Reply {replies}, or `status`."))
    again = Click(run=run.id, action="retry", version=run.version + 1, argument=newest.id if newest else "")
    parts.append(Buttons(buttons=(button(again, "Retry", "primary"),)))
    return Card(title=title[:150], fallback=title, parts=tuple(parts), mentions=run.told(attempt.started_by))
