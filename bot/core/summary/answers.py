"""Answers to questions about one run, and the list of all."""

from datetime import datetime
from typing import Any

from bot.core.attempt import Attempt, AttemptState
from bot.core.cards import Card, Part, Small, Stages, Text, escape, say
from bot.core.model import Phase, Run
from bot.core.pipeline import Pipeline, bytes_of, seconds_of, settings_of
from bot.core.summary import found, words
from bot.core.summary.gate import next_steps
from bot.core.summary.help import help_card
from bot.core.summary.results import bench_history
from bot.core.summary.status import standing, status_card


def view_card(view: str, run: Run, pipeline: Pipeline, now: datetime, extra: dict[str, Any]) -> Card:
    """The answer to a question about one run. `extra`: log lines, orders, host facts, as far as the view needs them."""
    match view:
        case "plan":
            return _plan(run, pipeline)
        case "audit":
            return _audit(run, extra.get("orders", []))
        case "logs":
            return _logs(run, extra.get("log", ""), str(extra.get("where", "")))
        case "help":
            return help_card(run, pipeline)
        case "metric":
            return _metric(run, pipeline, str(extra.get("metric", "loss")), now)
        case "eta":
            return _eta(run, pipeline, now)
        case "progress":
            return say(found.line(run, pipeline, now))
        case "gpu" | "disk":
            return _facts(view, run, pipeline, extra)
        case "samples":
            return _samples(run)
    return _summary(run, pipeline, now)


def _summary(run: Run, pipeline: Pipeline, now: datetime) -> Card:
    text = found.line(run, pipeline, now)
    card = status_card(run, pipeline, now)
    kept = tuple(part for part in card.parts if isinstance(part, Stages) or part.kind == "small")
    more = bench_history(run.stage(pipeline.measuring.id)) if pipeline.measuring else ()
    return Card(fallback=text, parts=(Text(text=text), *kept, *more))


def _eta(run: Run, pipeline: Pipeline, now: datetime) -> Card:
    """When the running stage ends, as the stage itself reckons, and what the rest was estimated to take."""
    attempt = run.current
    eta = ((attempt.status if attempt else None) or {}).get("eta_s") or {}
    if attempt is None or attempt.state is AttemptState.UNKNOWN or not isinstance(eta.get("likely"), int | float):
        return say(f"{found.line(run, pipeline, now)}\nNo estimate yet.")
    told = [f"*{escape(pipeline.stage(run.at).title)}* ends in about *{words.duration(eta['likely'])}*"]
    low, high = eta.get("low"), eta.get("high")
    if isinstance(low, int | float) and isinstance(high, int | float) and round(low) != round(high):
        told.append(f"(between {words.duration(low)} and {words.duration(high)})")
    rest = pipeline.stages[pipeline.index(run.at) + 1 :]
    seconds = sum(seconds_of(spec, run.stage(spec.id).overrides) for spec in rest)
    later = f" After it: {', '.join(escape(s.title) for s in rest)}" if rest else ""
    if later and seconds:
        later += f", estimated at {words.duration(seconds)} and the waits for you"
    return say(f"{' '.join(told)}.{later + '.' if later else ''}")


def _plan(run: Run, pipeline: Pipeline) -> Card:
    first = pipeline.index(run.gate.before) if run.gate else pipeline.index(run.at) + (run.phase is not Phase.DONE)
    following = pipeline.stages[first:]
    if not following or run.phase is Phase.DONE:
        used = [_settings_line(run, pipeline, spec.id) for spec in pipeline.stages]
        return say("\n".join(["All stages are done. Settings:", *used]))
    seconds = sum(seconds_of(spec, run.stage(spec.id).overrides) for spec in following)
    size = sum(bytes_of(spec, run.stage(spec.id).overrides) for spec in following)
    cost = [f"about {words.duration(seconds)}" if seconds else "", words.size(size) if size else ""]
    total = " · ".join(part for part in cost if part)
    gates = [f"before {escape(spec.title)}" for spec in following if spec.gate]
    lines = [next_steps(run, following)]
    lines.append((f"In all {total}. " if total else "") + (f"I wait for you {', '.join(gates)}." if gates else ""))
    return say("\n".join(lines))


def _settings_line(run: Run, pipeline: Pipeline, stage_id: str) -> str:
    spec, work = pipeline.stage(stage_id), run.stage(stage_id).latest("work")
    used = work.settings if work else settings_of(spec, run.stage(stage_id).overrides)
    return f"• {escape(spec.title)}: {words.settings(used) or 'none'}"


def _audit(run: Run, orders: list[dict[str, Any]]) -> Card:
    lines = [f"*Orders of {run.id}*"]
    for order in orders[-15:]:
        at = words.parse_time(order.get("at"))
        when = words.ago(at) if at else ""
        said, outcome = escape(str(order["text"]))[:120], escape(str(order["outcome"]))[:160]
        shown = f" · evidence `{str(order['evidence'])[:12]}`" if order.get("evidence") else ""
        lines.append(f"• {when} {words.person(str(order['who']))}: “{said}” → {outcome}{shown}")
    if len(orders) > 15:
        lines.append(f"and {len(orders) - 15} before: `python -m bot audit --run {run.id}`")
    return say("\n".join(lines) if orders else f"No order was given for {run.id} yet.")


def _logs(run: Run, log: str, where: str) -> Card:
    attempt = run.current
    if attempt is None or not log.strip():
        return say(f"{run.id} has no log yet.")
    parts: list[Part] = [Text(text=f"*{attempt.id}*, the last lines\n```{escape(log)[-2700:]}```")]
    if where:
        parts.append(Small(text=f"whole log: {escape(where)}"))
    return Card(fallback=f"Log of {attempt.id}", parts=tuple(parts))


def _metric(run: Run, pipeline: Pipeline, name: str, now: datetime) -> Card:
    for stage in reversed(run.stages):
        attempt = stage.latest("work")
        value = measured(attempt, name) if attempt else None
        if value is not None and attempt is not None:
            step = attempt.metrics.get("step")
            at = f" at step {words.count(step)}" if step is not None and not attempt.state.over else ""
            title = escape(pipeline.stage(stage.id).title)
            return say(f"{run.id} {title}, attempt {attempt.n}: {escape(name.replace('_', ' '))} *{value:.4g}*{at}")
    return say(f"No {escape(name.replace('_', ' '))} is recorded yet.\n{found.line(run, pipeline, now)}")


def measured(attempt: Attempt, name: str) -> float | None:
    """A figure of an attempt by name: its result's, else the newest that it reported."""
    for source in (attempt.result, attempt.metrics, attempt.status):
        value = _search(source or {}, name)
        if value is not None:
            return value
    return None


def _search(tree: dict[str, Any], name: str) -> float | None:
    numbers = {k: float(v) for k, v in tree.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    if name in numbers:
        return numbers[name]
    for inner in tree.values():
        if isinstance(inner, dict) and (value := _search(inner, name)) is not None:
            return value
    near = [value for key, value in numbers.items() if name in key.split("@")[0].replace("/", "_").split("_")]
    return near[0] if near else None


def _facts(view: str, run: Run, pipeline: Pipeline, extra: dict[str, Any]) -> Card:
    host = escape(run.current.host if run.current else pipeline.stage(run.at).host)
    told = [str(extra.get(view) or f"nothing is known of {host} yet")]
    disk = ((run.current.status if run.current else None) or {}).get("disk") or {}
    if view != "gpu" and "projected" in disk:
        used = words.size(disk.get("used", 0))
        told.append(f"this stage: {used} used, {words.size(disk['projected'])} projected in the end")
    return say(f"*{host}*: " + "\n".join(told))


def _samples(run: Run) -> Card:
    made = [a for stage in run.stages for a in stage.attempts if a.purpose == "work" and a.result]
    if not made:
        return say(f"{run.id} has made no samples yet.")
    return say("\n".join(f"• {a.stage}: `{escape(a.host)}:{escape(a.out)}`" for a in made))


def list_card(runs: list[tuple[Run, Pipeline]], now: datetime) -> Card:
    """Every run that is not over."""
    if not runs:
        return say("Nothing runs. `start NAME` plans a run.")
    return say(
        "\n".join(f"• *{run.id}* {escape(run.title)} · {standing(run, pipeline, now)}" for run, pipeline in runs)
    )
