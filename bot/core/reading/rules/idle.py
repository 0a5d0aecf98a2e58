"""No run is meant: start one, list them, or say that nothing waits."""

from __future__ import annotations

from typing import Any

from bot.core.reading.context import Context, Place
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.message import Message
from bot.core.reading.names import Host
from bot.core.reading.settings import parse_number
from bot.core.reading.tags import Tag

_NEW = frozenset({"new", "another"})


def read_without_run(message: Message, context: Context) -> Intent:
    """The reading of a message that no live run is addressed by."""
    starts = any(act.tag in (Tag.BEGIN, Tag.DO_STAGE) and not act.negated for act in message.acts)
    if (starts and message.named(Tag.STAGE, Tag.MODEL)) or _wants_new(message):
        return start(message, context)
    view = next((str(item.value) for item in message.items if item.has(Tag.VIEW)), None)
    if view is not None or (message.asked and not message.acts):
        return list_or_help(message, view)
    if message.acts or message.claims:
        return Intent(kind=Kind.ASK, rule="nothing_waits", why="nothing_waiting")
    return Intent(kind=Kind.IGNORE, rule="chatter", why="nothing_said")


def _wants_new(message: Message) -> bool:
    """ "new extraction run, llama-8b, 5k samples": no verb, but all that a plan needs."""
    new = any(item.text in _NEW for item in message.items)
    begun = message.named(Tag.STAGE, Tag.NUMBER, Tag.HOST) or any(item.text == "run" for item in message.items)
    return new and begun and message.named(Tag.MODEL) and not message.asked and not message.has(Tag.AUX)


def list_or_help(message: Message, view: str | None) -> Intent:
    """Without a run, everything but help and the audit is a list of runs."""
    if view is None and message.named(Tag.UNKNOWN):
        return Intent(kind=Kind.IGNORE, rule="chatter", why="nothing_said")
    shown = view if view in ("help", "audit", "cleanup", "disk", "gpu") else "list"
    return Intent(kind=Kind.STATUS, rule="list_or_help", more={"view": shown})


def start(message: Message, context: Context) -> Intent:
    """A new run shows its plan first, with cost and disk."""
    values: dict[str, Any] = {s.name: s.value for s in message.settings if s.value is not None and not s.problem}
    for item in message.items:
        if isinstance(item.value, Host):
            values.setdefault(item.value.param.name, item.value.name)
        elif item.has(Tag.MODEL):
            values["model"] = _spelled(item.text, context)
    for spec in (spec for pipeline in context.pipelines for spec in pipeline.params):
        if spec.name.startswith("max_") and spec.name not in values:
            count = _counted(message, spec.name.removeprefix("max_"))
            if count is not None:
                values[spec.name] = count
    return Intent(kind=Kind.ASK, rule="start_shows_its_plan", why="plan_first", proposed="START", set=values)


def starts_new(message: Message, context: Context) -> bool:
    """ "start demo": a pipeline or model to begin with, outside of any run's thread, though such a run may exist.

    "start training qwen" orders a later stage, and so means the run.
    """
    if context.place is Place.THREAD or not message.named(Tag.MODEL):
        return False
    exact = any(item.has(Tag.RUN) and not item.has(Tag.MODEL) for item in message.items)
    begins = any(act.tag is Tag.BEGIN and not act.negated for act in message.acts)
    first = {pipeline.stages[0].id for pipeline in context.pipelines if pipeline.stages}
    stages = {stage for clause in message.clauses for stage in clause.stages()}
    return begins and not exact and stages <= first


def _spelled(word: str, context: Context) -> str:
    """A model or pipeline name as the pipeline spells it."""
    known = [name for pipeline in context.pipelines for name in (*pipeline.models, pipeline.name)]
    return next((name for name in known if name.lower() == word), word)


def _counted(message: Message, noun: str) -> int | None:
    """The number before a noun: "9k samples"."""
    for item, after in zip(message.items, message.items[1:], strict=False):
        if item.has(Tag.NUMBER) and after.text in (noun, noun.rstrip("s")):
            number = parse_number(item.text)
            return number if isinstance(number, int) and number > 0 else None
    return None
