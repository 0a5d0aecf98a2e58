"""Answers that change nothing: what was understood, what was found, what can be tapped."""

from collections.abc import Sequence
from datetime import datetime

from bot.core.cards import Buttons, Card, Part, Text, escape
from bot.core.errors import WrongState
from bot.core.machine.extension import EXTENDED, extended_stages, extension
from bot.core.model import Phase, Run
from bot.core.pipeline import Param, Pipeline
from bot.core.reading.intent import Intent
from bot.core.reading.why import REASONS
from bot.core.summary import found, words
from bot.core.summary.armed import armed_rule
from bot.core.summary.extend import extension_lines
from bot.core.summary.offers import offers, pick, waiver_reason
from bot.core.wanted import wanted

_MACHINE = (  # what the machine shows is the answer
    "claim_contradicted", "not_settled", "cannot_verify", "cannot_reach", "not_waiting", "not_ready", "nothing_waiting",
    "nothing_running", "nothing_failed", "already_running", "stage_already_done", "wrong_stage", "edit_after_action",
    "possible_mistake", "complaint_without_order", "waiver_needed", "lift_hold_or_start", "held_by_other",
)  # fmt: skip


_MOST = 5  # buttons in a row


def ask_card(
    intent: Intent,
    run: Run | None,
    pipeline: Pipeline | None,
    now: datetime,
    *,
    said: str,
    others: Sequence[tuple[Run, Pipeline]] = (),
) -> Card:
    """`said` is the operator's own text; `others` are the runs that could be meant when it is not clear which."""
    if run is None or pipeline is None:
        return _which(intent, others, now)
    lines = [reason(intent, run, pipeline, now, said)]
    if intent.why in _MACHINE:
        lines.append(found.line(run, pipeline, now))
    lines.append("_Nothing was changed._")
    parts: list[Part] = [Text(text="\n".join(line for line in lines if line))]
    if buttons := offers(intent, run, pipeline, said):
        parts.append(Buttons(buttons=buttons))
    return Card(fallback=f"{run.id}: {lines[0]}", parts=tuple(parts))


def reason(intent: Intent, run: Run, pipeline: Pipeline, now: datetime, said: str) -> str:
    """Why nothing was done, with this run's own values."""
    why, more = intent.why or "", intent.more
    title = f"*{escape(pipeline.stage(run.at).title)}*"
    match why:
        case "claim_contradicted":
            return f"{title} is not done:"
        case "not_settled" if run.phase in (Phase.CHECKING, Phase.VERIFYING):
            return f"{title} has ended, and is not proven yet:"
        case "not_settled":
            return f"{title} has not quite ended:"
        case "conditional" | "timed" if "after_s" in more:
            wait = words.duration(float(more["after_s"]))
            return f"Understood: in {wait}. I start nothing by the clock; say it then, or start it now."
        case "conditional" | "timed" if intent.when is not None and run.phase in (Phase.RUNNING, Phase.VERIFYING):
            return conditional(intent, run, pipeline)
        case "conditional" | "timed":
            return "I cannot watch for that. Say it once it is so."
        case "stage_already_done" if run.gate is not None and run.gate.after is None:
            return "Nothing was made yet that could be made again."
        case "skips_stage" if run.phase in (Phase.FAILED, Phase.CANCELLED):
            return f"{title} did not come to its end, so nothing can go on from it. `retry` takes up what is there."
        case "unclear" if intent.set and intent.proposed in ("BENCH", "RETRY"):
            return f"{words.settings(wanted(intent, pipeline))}: a value, but no order. Use it now?"
        case "stale_message":
            age_s = float(more.get("age_h", 0)) * 3600 or float(more.get("age_min", 0)) * 60
            return f"That was said {words.duration(age_s)} ago, while I was away. Still wanted?"
        case "edit_after_action" if run.started is not None:
            who = words.person(run.started.by)
            return f"It was carried out before it was edited: {who} started it {words.ago(run.started.at)}."
        case "held_by_other" if run.gate is not None:
            return f"{words.person(run.gate.held_by)} has put it on hold. Start it all the same?"
        case "waiver_needed":
            return _waiver(said)
        case "extend":
            return _extension(intent, run, pipeline)
        case "out_of_range" | "no_value" | "unknown_param":
            return _value(intent, run, pipeline)
        case "discards_work" if "loses" in more:
            lost = escape(str(more["loses"]))
            return f"A fresh start would throw away {lost} of {title}. A retry goes on from what is there."
        case "chained" if "then" in more:
            return f"One order passes one gate: {escape(str(more['then']))} is asked for when its turn comes."
        case "thread_names_other_run":
            return f"This is the thread of {run.id}, and another run is named. Say it in that run's own thread."
    return REASONS.get(why, "I am not sure what is meant.")


def conditional(intent: Intent, run: Run, pipeline: Pipeline) -> str:
    """The armed rule in plain words, before it is armed; or why it can't be."""
    when = milestone_of(intent)
    total = run.current.progress[1] if run.current and run.current.progress else None
    unit = run.current.progress[2] if run.current and run.current.progress else ""
    wanted = when.get(unit)
    if wanted is not None and total is not None and wanted > total:
        return f"This stage makes {words.count(total)} {escape(unit)} in all: {words.milestone(when)} are not reached."
    if run.armed is not None:
        return f"That is armed already, by {words.person(run.armed.by)}."
    return f"Understood: {armed_rule(run, pipeline, when)} Shall I?"


def milestone_of(intent: Intent) -> dict[str, float]:
    """The part of a condition that counts something."""
    return {str(k): float(v) for k, v in (intent.when or {}).items() if isinstance(v, int | float)}


def _waiver(said: str) -> str:
    if waiver_reason(said):
        return "The evidence falls short. To go on all the same is a waiver: it is recorded with name and reason."
    return "The evidence falls short. To go on all the same, say why: `waive because …`. It is recorded with your name."


def _extension(intent: Intent, run: Run, pipeline: Pipeline) -> str:
    add = intent.more.get("add")
    try:
        names = ", then ".join(f"*{escape(spec.title)}*" for spec in extended_stages(pipeline))
        if not isinstance(add, int):
            return f"How many more? `{EXTENDED.replace('_', ' ')}` can be raised for {names}: say `generate 5k more`."
        if run.phase in (Phase.RUNNING, Phase.VERIFYING, Phase.STARTING, Phase.CHECKING, Phase.CANCELLING):
            title = escape(pipeline.stage(run.at).title)
            return f"Not while *{title}* is under way. Say it again when it has ended."
        extension(run, pipeline, add)
    except WrongState as error:
        return f"{str(error)[:1].upper()}{str(error)[1:]}."
    return "\n".join(extension_lines(run, pipeline, add))


def _value(intent: Intent, run: Run, pipeline: Pipeline) -> str:
    """What may be set, within which bounds."""
    names = [str(intent.more.get("param", "")), *map(str, intent.set)]
    coming = pipeline.stages[pipeline.index(run.gate.before if run.gate else run.at) :]
    known = {p.name: p for spec in coming for p in spec.params if p.chat}
    named = [known[name] for name in names if name in known]
    if intent.why == "unknown_param" or not named:
        may = ", ".join(f"`{name.replace('_', ' ')}`" for name in known) or "nothing"
        return f"That cannot be set by chat here. What can: {may}."
    told = "; ".join(f"`{p.name.replace('_', ' ')}` takes {bounds(p)}" for p in named)
    if intent.why == "no_value":
        return f"To which value? {told}."
    return f"{words.settings({k: v for k, v in intent.set.items() if k in known})} is out of bounds: {told}."


def bounds(param: Param) -> str:
    """0.000001 to 0.01; a or b."""
    if param.choices:
        return " or ".join(f"`{escape(choice)}`" for choice in param.choices)
    if param.low is not None and param.high is not None:
        return f"{words.count(param.low) if param.low >= 1 or param.low == 0 else f'{param.low:g}'} to {param.high:g}"
    return "any value"


def _which(intent: Intent, others: Sequence[tuple[Run, Pipeline]], now: datetime) -> Card:
    """No run, or more than one: say which there are; a button reaches its own run alone."""
    lines = [REASONS.get(intent.why or "", "I am not sure what is meant.")]
    lines += [f"• {found.line(run, pipeline, now)}" for run, pipeline in others]
    candidates = intent.more.get("candidates") or ()
    if others or candidates:
        answer = "Answer here with its id" if intent.why == "which_run" else "Say it with its id"
        lines.append(f"{answer}, or say it in the run's own thread.")
    lines.append("_Nothing was changed._")
    buttons = tuple(made for run, pipeline in others if (made := pick(intent, run, pipeline)) is not None)[:_MOST]
    parts: list[Part] = [Text(text="\n".join(lines))]
    if buttons:
        parts.append(Buttons(buttons=buttons))
    return Card(fallback=lines[0], parts=tuple(parts))
