"""Buttons that fit what was proposed and where the run stands."""

import json
import re
from collections.abc import Iterator, Mapping

from bot.core.cards import Button
from bot.core.clicks import Click, button
from bot.core.errors import WrongState
from bot.core.machine.extension import extension
from bot.core.model import Phase, Run
from bot.core.mrkdwn import plain
from bot.core.pipeline import Pipeline, Value, suites_of
from bot.core.reading.intent import Intent
from bot.core.summary import words
from bot.core.wanted import wanted

_STOPPED = (Phase.FAILED, Phase.BLOCKED, Phase.CANCELLED)
_AT_WORK = (Phase.RUNNING, Phase.VERIFYING)
_TOO_EARLY = ("claim_contradicted", "not_settled", "cannot_verify", "not_waiting", "not_ready")
_LABEL = 75
_ACKNOWLEDGES = re.compile(r"\d|\b(?:enough|shortfall|missing|fewer|less)\b", re.I)
_WORDS_OF_A_REASON = 3
_REASON = re.compile(r"\b(?:because|since|reason(?: is)?|as)\b[\s:,]*(.+)|\bwaive\b[^:,]*[:,]\s*(.+)", re.I | re.S)


def offers(intent: Intent, run: Run, pipeline: Pipeline, said: str) -> tuple[Button, ...]:
    """At most four, the likeliest first; Status always."""
    found = [*_all(intent, run, pipeline, said)][:4]
    return (*found, button(_about(run, "status"), "Status"))


def _all(intent: Intent, run: Run, pipeline: Pipeline, said: str) -> Iterator[Button]:
    proposed, why = intent.proposed or "", intent.why or ""
    at_work, values = run.phase in _AT_WORK, wanted(intent, pipeline)
    gate = run.gate if run.phase in (Phase.WAITING, Phase.HELD) else None  # else it is being passed already
    passes = "ADVANCE" in proposed or ("BENCH" in proposed and _before_bench(run, pipeline))
    if passes and gate is not None and why != "out_of_range":
        yield _advance(run, pipeline, values)
    if "OVERRIDE" in proposed and gate is not None and intent.set and why not in ("out_of_range", "already_running"):
        click = Click(run=run.id, action="set", version=gate.version, argument=_json(intent.set))
        yield button(click, f"Set {words.settings(dict(intent.set)).replace('`', '')}"[:_LABEL], "primary")
    if "EXTEND" in proposed:
        yield from _extend(intent, run, pipeline)
    if run.phase is Phase.BLOCKED and (why == "waiver_needed" or "ADVANCE" in proposed):
        yield from _waive(run, said)
    short = run.phase is Phase.BLOCKED and "ADVANCE" in proposed
    if ("RETRY" in proposed and run.phase in _STOPPED) or why == "waiver_needed" or short:
        yield button(_about(run, "retry"), "Retry from what is there")
    if (
        at_work
        and run.armed is None
        and (why in _TOO_EARLY or ("ADVANCE" in proposed and (why != "timed" or intent.when)))
    ):
        yield from _arm(intent, run, pipeline)
    if at_work and why in (*_TOO_EARLY, "cannot_reach"):
        yield button(_about(run, "watch"), "Wait and tell me")
    if "CANCEL" in proposed and (at_work or run.phase is Phase.STARTING):
        yield button(_about(run, "cancel"), f"Cancel {pipeline.stage(run.at).title}"[:_LABEL], "danger")
    at_rest = run.phase is Phase.DONE or gate is not None
    if "BENCH" in proposed and at_rest and run.benched(pipeline) and why != "out_of_range":
        argument = f"{run.moment}\n{_json(values)}" if values else run.moment
        yield button(Click(run=run.id, action="bench", version=run.version, argument=argument), "Bench again")
    if "HOLD" in proposed and run.gate is None and at_work:
        yield button(_about(run, "hold_next"), "Hold at the next gate")
    if run.phase is Phase.BLOCKED:
        yield button(_about(run, "hold_next"), "Hold")
    if run.gate is not None and run.phase is Phase.WAITING:
        yield button(Click(run=run.id, action="hold", version=run.gate.version), "Hold")


def pick(intent: Intent, run: Run, pipeline: Pipeline) -> Button | None:
    """What was ordered, for one of several runs; None where it is not to be had."""
    proposed, values = intent.proposed or "", wanted(intent, pipeline)
    if "CANCEL" in proposed and (run.phase in _AT_WORK or run.phase is Phase.STARTING):
        return button(_about(run, "cancel"), f"{run.id}: cancel {pipeline.stage(run.at).title}"[:_LABEL], "danger")
    at_gate = run.gate is not None and run.phase in (Phase.WAITING, Phase.HELD)
    if run.gate is None or not at_gate or not ("ADVANCE" in proposed or ("OVERRIDE" in proposed and values)):
        return None
    chosen = words.settings(values).replace("`", "") if values else ""
    argument = _json(values) if values else ""
    if "OVERRIDE" in proposed:
        return button(
            Click(run=run.id, action="set", version=run.gate.version, argument=argument), f"{run.id}: {chosen}"[:_LABEL]
        )
    title = pipeline.stage(run.gate.before).title
    label = f"{run.id}: start {title}" + (f" · {chosen}" if chosen else "")
    return button(Click(run=run.id, action="advance", version=run.gate.version, argument=argument), label[:_LABEL])


def waiver_reason(said: str) -> str:
    """ "waive because 8.5k are plenty" -> "8.5k are plenty"; "" when nothing in it is a reason."""
    text = plain(said)
    found = _REASON.search(text)
    reason = (found[1] or found[2] or "").strip(" .\n\"'") if found else ""
    if not reason and _ACKNOWLEDGES.search(text) and len(text.split()) >= _WORDS_OF_A_REASON:
        reason = text.strip()  # "7.9k is fine, continue": what falls short is named, and accepted
    return reason[:300] if len(reason) >= 3 else ""


def _advance(run: Run, pipeline: Pipeline, values: dict[str, Value]) -> Button:
    gate = run.gate
    if gate is None:
        raise ValueError(f"{run.id} has no open gate")
    chosen = " · " + words.settings(values).replace("`", "") if values else ""
    argument = _json(values) if values else ""
    click = Click(run=run.id, action="advance", version=gate.version, argument=argument)
    following = pipeline.led_to(gate.before)
    goal = following[0].title + (f", then {following[-1].title}" if len(following) > 1 else "")
    return button(click, f"Start {goal}{chosen}"[:_LABEL], "primary")


def _before_bench(run: Run, pipeline: Pipeline) -> bool:
    return run.gate is not None and any(suites_of(s) or s.measures for s in pipeline.led_to(run.gate.before)[:1])


def _arm(intent: Intent, run: Run, pipeline: Pipeline) -> Iterator[Button]:
    when = {k: v for k, v in (intent.when or {}).items() if isinstance(v, int | float)}
    coming = pipeline.stages[pipeline.index(run.at) + 1 :]
    progress = run.current.progress if run.current else None
    never = progress is not None and progress[1] is not None and when.get(progress[2], 0) > progress[1]
    if never or all(spec.gate is None for spec in coming):
        return
    argument = f"{run.moment}\n{_json(when)}"
    click = Click(run=run.id, action="arm", version=run.version, argument=argument)
    yield button(click, "Yes, arm it" if intent.when else "Go on by itself once proven", "primary")


def _waive(run: Run, said: str) -> Iterator[Button]:
    reason = waiver_reason(said)
    if not reason:
        return
    click = Click(run=run.id, action="waive", version=run.version, argument=f"{run.moment}\n{reason}")
    yield button(
        click, "Waive", "danger", f"Accept what the evidence contradicts? Recorded with your name: {reason}"[:290]
    )


def _extend(intent: Intent, run: Run, pipeline: Pipeline) -> Iterator[Button]:
    add = intent.more.get("add")
    if not isinstance(add, int) or run.phase in (*_AT_WORK, Phase.STARTING, Phase.CHECKING, Phase.CANCELLING):
        return
    try:
        bound = max(extension(run, pipeline, add).values())
    except WrongState:
        return
    click = Click(run=run.id, action="extend", version=run.version, argument=f"{run.moment}\n{add}")
    yield button(click, f"Extend to {bound:,} samples", "primary")


def _about(run: Run, action: str) -> Click:
    return Click(run=run.id, action=action, version=run.version, argument=run.moment)


def _json(values: Mapping[str, object]) -> str:
    return json.dumps(dict(values), separators=(",", ":"))
