"""Reminders: what is waited for, since when, and what may be said."""

from datetime import datetime

from bot.core.cards import Button, Buttons, Card, Text, escape
from bot.core.clicks import Click, button
from bot.core.model import Phase, Run
from bot.core.pipeline import Pipeline
from bot.core.summary import words


def reminder_card(run: Run, pipeline: Pipeline, since: datetime, above: tuple[str, ...]) -> Card:
    """Still waiting; `above` are those who are told because it takes long."""
    title = escape(pipeline.stage(run.at).title)
    wait = f"since {words.moment(since)}"
    if run.gate is not None and run.phase is Phase.WAITING:
        goal = ", then ".join(f"*{escape(spec.title)}*" for spec in pipeline.led_to(run.gate.before))
        word = "continue" if run.gate.after else "go"
        said = f"{run.id} waits {wait} for somebody to start {goal}. Reply `{word}` or `hold`."
    elif run.phase is Phase.BLOCKED:
        said = f"{run.id}: *{title}* is not proven {wait}. Reply `retry`, `waive because …` or `hold`."
    else:
        said = f"{run.id}: *{title}* failed {wait}. Reply `retry` or `logs`."
    if above:
        said += f" Told as well: {', '.join(words.person(who) for who in above)}."
    text = f"⏰ {said} _Nothing starts by itself._"
    parts = (Text(text=text), Buttons(buttons=_buttons(run, pipeline)))
    started = run.started.by if run.started else run.owner
    return Card(fallback=said, parts=parts, mentions=run.told(started, *above))


def _buttons(run: Run, pipeline: Pipeline) -> tuple[Button, ...]:
    if run.gate is not None:
        first = pipeline.stage(run.gate.before).title
        advance, hold = (Click(run=run.id, action=action, version=run.gate.version) for action in ("advance", "hold"))
        return button(advance, f"Start {first}"[:75], "primary"), button(hold, "Hold")
    return (button(Click(run=run.id, action="retry", version=run.version, argument=run.moment), "Retry", "primary"),)
