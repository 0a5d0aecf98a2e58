"""A stage failed or was cancelled, and what it made is kept: resume it, start afresh, or leave it."""

from __future__ import annotations

from bot.core.reading.intent import Intent, Kind
from bot.core.reading.rules import asking, stay
from bot.core.reading.rules.moment import Answer, Moment, Rule, ask, hold, ignore, out_of_range
from bot.core.reading.rules.running import emoji_alone
from bot.core.reading.rules.stray import is_stray
from bot.core.reading.rules.times import timing
from bot.core.reading.tags import Tag

_AGAIN = (Tag.RETRY, Tag.RESUME)


def from_scratch(moment: Moment) -> Answer:
    """A fresh start discards what is there."""
    message = moment.message
    if not message.find(Tag.FRESH) and not message.find(Tag.NUKE):
        return None
    done = moment.run.percent
    lost = {"loses": f"{done:g}%"} if done is not None else {}
    return ask("discards_work", moment, "RETRY", mode="fresh", **lost)


def leave_it(moment: Moment) -> Answer:
    """ "don't retry", "wait", "no"."""
    message = moment.message
    if moment.go and moment.stays:
        return ask("mixed_polarity", moment, "RETRY")
    stays = moment.stays or message.find(Tag.STOP) or message.has(Tag.KEEP, Tag.LATER)
    if moment.go or not stays or message.asked:
        return None
    return None if message.named(Tag.UNKNOWN) and not moment.no_go and not message.find(Tag.HOLD) else hold(moment)


def bad_value(moment: Moment) -> Answer:
    """A value that cannot be taken."""
    problem = moment.problem
    if problem is None:
        return None
    if problem.problem == "out_of_range":
        return out_of_range(problem, moment, "RETRY")
    return ask(str(problem.problem), moment, "RETRY", param=problem.name)


def retry(moment: Moment) -> Answer:
    """A clear order to try again; what is there is kept."""
    run, message = moment.run, moment.message
    again = [act for act in moment.go if act.tag in _AGAIN]
    bare_again = message.has(Tag.AGAIN) and not moment.go and len(message.words) <= 3
    if not again and not bare_again:
        return None
    if is_stray(moment):
        return ignore("nothing_said")
    why = moment.objection("complaint")
    if why is None and (len(again) < len(moment.go) or message.claims):
        why = "chained"
    if why is not None or bare_again:
        return ask(why or "resume_or_leave", moment, "RETRY", **timing(moment, why or ""))
    if any(act.stage not in (None, run.stage) for act in again):
        return ask("wrong_stage", moment, "RETRY")
    strange = moment.setting_of_another_stage(run.stage)
    if strange is not None:
        return ask("unknown_param", moment, "RETRY", param=strange.name)
    return Intent(kind=Kind.RETRY, rule="", run=run.id, stage=run.stage, set=moment.values, more={"mode": "resume"})


def claim_or_order(moment: Moment) -> Answer:
    """ "done, continue" is contradicted; "continue" alone may mean to resume."""
    message = moment.message
    if message.asked and moment.go:
        return ask("question", moment, "RETRY")
    if message.asked or not (moment.go or message.claims):
        return None
    if is_stray(moment) or (not moment.go and message.named(Tag.UNKNOWN, Tag.SUBJECT)):
        return ignore("nothing_said")
    if any(claim.status == "done" for claim in message.claims):
        return ask("claim_contradicted", moment)
    if any(act.stage not in (None, moment.run.stage) for act in moment.go):
        return ask("not_ready", moment)
    return ask("resume_or_leave", moment, "RETRY")


def nothing_runs(moment: Moment) -> Answer:
    """There is nothing left to stop."""
    if not moment.ends and not moment.message.find(Tag.UNDO):
        return None
    return ignore("nothing_said") if is_stray(moment) else ask("nothing_running", moment)


def values(moment: Moment) -> Answer:
    """Values for a retry that nobody ordered."""
    return ask("unclear", moment, "RETRY", set=moment.values) if moment.message.settings else None


def skip_it(moment: Moment) -> Answer:
    """To go on without what failed takes a waiver."""
    message = moment.message
    waives = message.find(Tag.SKIP) or message.has(Tag.WAIVE)
    return ask("skips_stage", moment, skips=moment.run.stage) if waives and not message.asked else None


def filler(moment: Moment) -> Answer:
    """ "ok" to a failure is no order."""
    message = moment.message
    fills = message.only(Tag.FILLER, Tag.POLITE) and message.named(Tag.FILLER)
    return ask("filler", moment, "RETRY") if fills and moment.context.card_is_last else None


RULES: tuple[Rule, ...] = (
    asking.question_mark_alone,
    asking.nothing_said,
    emoji_alone,
    asking.to_somebody_else,
    asking.question_about_the_run,
    stay.asked_whether_to_wait,
    from_scratch,
    leave_it,
    nothing_runs,
    bad_value,
    skip_it,
    asking.extension,
    retry,
    claim_or_order,
    values,
    asking.view_or_metric,
    filler,
    asking.chatter,
)
