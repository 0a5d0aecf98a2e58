"""What is answered to orders that start nothing, and to questions."""

from datetime import datetime
from typing import Any

from bot.core.cards import Button, Buttons, Card, Part, Stages, Text, escape, say
from bot.core.clicks import Click, button
from bot.core.model import Attempt, AttemptState, Phase, Run
from bot.core.pipeline import Pipeline, settings_of
from bot.core.reading.intent import Intent
from bot.core.reading.why import REASONS
from bot.core.summary import evidence as evidence_summary
from bot.core.summary import words
from bot.core.summary.gate import next_steps
from bot.core.summary.results import bench_history
from bot.core.summary.status import progress_line, standing, status_card


def found_line(run: Run, pipeline: Pipeline, now: datetime) -> str:
    """What the machine shows now, in one line: the answer to a claim."""
    attempt = run.current
    title = escape(pipeline.stage(run.at).title)
    if attempt is None:
        return f"{run.id} · {standing(run, pipeline, now)}"
    seen = f", seen {words.moment(attempt.seen_at)}" if attempt.seen_at else ""
    if attempt.state is AttemptState.UNKNOWN:
        return f"{run.id} {title}: *{escape(attempt.host)} unreachable*, its state is not known{seen}"
    if attempt.state in (AttemptState.RUNNING, AttemptState.QUEUED, AttemptState.LAUNCHING, AttemptState.STALLED):
        alive = f"process {attempt.pid} alive" if attempt.pid else attempt.state.value
        return f"{run.id} {title}: {progress_line(attempt)} · {alive} on {escape(attempt.host)}{seen}"
    made = run.stage(run.at).evidence
    checked = f" · {evidence_summary.brief(made)}" if made else ""
    return f"{run.id} {title}: {attempt.state.value}, exit code {attempt.rc}{checked}"


def ask_card(intent: Intent, run: Run | None, pipeline: Pipeline | None, now: datetime, said: str) -> Card:
    """Nothing was changed: what was understood, what was found, what can be tapped."""
    reason = REASONS.get(intent.why or "", "I am not sure what is meant.")
    lines = [reason]
    parts: list[Part] = []
    if run is not None and pipeline is not None:
        lines.append(found_line(run, pipeline, now))
        if buttons := offers(intent, run, pipeline, said):
            parts.append(Buttons(buttons=buttons))
    elif candidates := intent.more.get("candidates"):
        lines.append("Say it in the thread of the run, or with its id: " + ", ".join(f"`{c}`" for c in candidates))
    lines.append("_Nothing was changed._")
    return Card(fallback=reason, parts=(Text(text="\n".join(lines)), *parts))


def offers(intent: Intent, run: Run, pipeline: Pipeline, said: str) -> tuple[Button, ...]:
    """Buttons that fit what was proposed and where the run stands."""
    current = run.current.id if run.current else ""

    def on_gate(action: str) -> Click:
        return Click(run=run.id, action=action, version=run.gate.version if run.gate else 0)

    def about(action: str, argument: str = "") -> Click:
        return Click(run=run.id, action=action, version=run.version, argument=argument or current)

    proposed = intent.proposed or ("ADVANCE" if intent.why in ("claim_contradicted", "not_settled") else "")
    wanted: list[Button] = []
    if "ADVANCE" in proposed and run.gate is not None:
        wanted.append(button(on_gate("advance"), "Start " + pipeline.stage(run.gate.before).title, "primary"))
        wanted.append(button(on_gate("hold"), "Hold"))
    elif "ADVANCE" in proposed and run.phase in (Phase.RUNNING, Phase.VERIFYING) and run.armed is None:
        wanted.append(button(about("arm"), "Go on by itself once proven", "primary"))
    if "ADVANCE" in proposed and run.phase is Phase.BLOCKED:
        question = "Go on although the evidence contradicts? This is recorded with your name."
        wanted.append(button(about("waive", f"{current}\n{said[:150]}"), "Waive and go on", "danger", question))
    if ("RETRY" in proposed or run.phase is Phase.BLOCKED) and run.phase in _STOPPED:
        wanted.append(button(about("retry"), "Retry from what is there"))
    if "CANCEL" in proposed and run.live:
        wanted.append(button(about("cancel"), "Cancel " + pipeline.stage(run.at).title, "danger"))
    if "BENCH" in proposed and run.phase is Phase.DONE:
        wanted.append(button(about("bench"), "Bench again"))
    wanted.append(button(about("status"), "Status"))
    return tuple(wanted)


_STOPPED = (Phase.FAILED, Phase.BLOCKED, Phase.CANCELLED)


def view_card(view: str, run: Run, pipeline: Pipeline, now: datetime, extra: dict[str, Any]) -> Card:
    """The answer to a question about one run. `extra`: log lines, orders, host facts, as far as the view needs them."""
    if view in ("plan", "settings"):
        return _plan(run, pipeline)
    if view == "audit":
        return _audit(run, extra.get("orders", []))
    if view == "logs":
        return _logs(run, extra.get("log", ""))
    if view == "help":
        return help_card(run, pipeline)
    if view == "metric":
        return _metric(run, pipeline, str(extra.get("metric", "loss")), now)
    if view == "gpu" and extra.get("gpus"):
        return say(f"{found_line(run, pipeline, now)}\n{extra['gpus']}")
    text = found_line(run, pipeline, now)
    card = status_card(run, pipeline, now)
    kept = tuple(part for part in card.parts if isinstance(part, Stages) or part.kind == "small")
    more = bench_history(run.stage(pipeline.stages[-1].id)) if run.phase is Phase.DONE else ()
    return Card(fallback=text, parts=(Text(text=text), *kept, *more))


def _plan(run: Run, pipeline: Pipeline) -> Card:
    first = run.gate.before if run.gate else run.at
    following = pipeline.stages[pipeline.index(first) :]
    lines = [next_steps(run, following), "*Settings*"]
    for spec in following:
        chosen = settings_of(spec, run.stage(spec.id).overrides)
        lines.append(f"• {escape(spec.title)}: " + (words.settings(chosen) or "none"))
    return say("\n".join(lines))


def _audit(run: Run, orders: list[dict[str, Any]]) -> Card:
    lines = [f"*Orders of {run.id}*"]
    for order in orders[-15:]:
        at = words.parse_time(order.get("at"))
        when = words.moment(at) if at else ""
        said, outcome = escape(str(order["text"]))[:120], escape(str(order["outcome"]))[:160]
        lines.append(f"• {when} {words.person(str(order['who']))}: “{said}” → {outcome}")
    return say("\n".join(lines) if orders else f"No order was given for {run.id} yet.")


def _logs(run: Run, log: str) -> Card:
    attempt = run.current
    if not log.strip():
        return say(f"{run.id} has no log yet.")
    name = attempt.id if attempt else run.id
    return say(f"Last log lines of {name}\n```{escape(log)[-2700:]}```")


def _metric(run: Run, pipeline: Pipeline, name: str, now: datetime) -> Card:
    for stage in reversed(run.stages):
        attempt = stage.latest("work")
        value = _find(attempt, name) if attempt else None
        if value is not None and attempt is not None:
            return say(f"{run.id} {stage.id} attempt {attempt.n}: {escape(name)} *{value:.4g}*")
    return say(f"No {escape(name)} is recorded yet. {found_line(run, pipeline, now)}")


def _find(attempt: Attempt, name: str) -> float | None:
    for source in (attempt.result, attempt.status):
        found = _search(source or {}, name)
        if found is not None:
            return found
    return None


def _search(tree: dict[str, Any], name: str) -> float | None:
    for key, value in tree.items():
        if key == name and isinstance(value, int | float):
            return float(value)
        if isinstance(value, dict) and (found := _search(value, name)) is not None:
            return found
    return None


def help_card(run: Run, pipeline: Pipeline) -> Card:
    """What can be said now, in this thread."""
    said: list[str] = ["`status`, `eta`, `logs`, `plan`, `who started this`"]
    if run.gate is not None:
        goal = ", then ".join(escape(s.title) for s in pipeline.led_to(run.gate.before))
        word = "go" if run.gate.after is None else "continue"
        said.append(f"`{word}`: start {goal} (you can take it back for a moment with `wait`)")
        for spec in pipeline.led_to(run.gate.before):
            said += [
                f"`{p.name.replace('_', ' ')} …`: {_range(p.low, p.high, p.choices)} ({escape(spec.title)})"
                for p in spec.params
                if p.chat
            ]
        said.append("`hold`: start nothing until somebody says `continue`")
    if run.live:
        said.append(f"`cancel`: end {escape(pipeline.stage(run.at).title)} (asked once more)")
    if run.phase in _STOPPED:
        said.append("`retry`: go on from what is there")
    if run.phase is Phase.DONE:
        said.append("`bench it`, `bench with steps 5`: measure again, results side by side")
    if run.armed is not None:
        said.append("`hold`: take back what starts by itself")
    return say("*What can be said here now*\n" + "\n".join(f"• {line}" for line in said))


def _range(low: float | None, high: float | None, choices: tuple[str, ...]) -> str:
    if choices:
        return " or ".join(choices)
    return f"{low:g} to {high:g}" if low is not None and high is not None else "any"


def list_card(runs: list[tuple[Run, Pipeline]], now: datetime) -> Card:
    """Every run that is not over."""
    if not runs:
        return say("Nothing runs. `start NAME` plans a run.")
    return say(
        "\n".join(f"• *{run.id}* {escape(run.title)} · {standing(run, pipeline, now)}" for run, pipeline in runs)
    )
