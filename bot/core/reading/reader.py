"""`read(text, context)`: who is meant, which rules apply, and what may come of it at this moment."""

from __future__ import annotations

from dataclasses import replace

from bot.core.reading import guards
from bot.core.reading.acts import ORDER_TAGS
from bot.core.reading.address import Addressed, address
from bot.core.reading.clauses import Clause
from bot.core.reading.context import Context, Event, PendingQuestion, Phase, Place, QuestionKind, RunView
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.message import Message, parse
from bot.core.reading.names import collect
from bot.core.reading.normalise import normalise
from bot.core.reading.rules import failed, finished, gate, idle, pending, running
from bot.core.reading.rules.moment import Moment, Rule, decide
from bot.core.reading.settings import takes
from bot.core.reading.strict import read_strict
from bot.core.reading.tags import Tag

_RULES: dict[Phase, tuple[Rule, ...]] = {
    Phase.PLANNED: gate.RULES,
    Phase.WAITING: gate.RULES,
    Phase.HELD: gate.RULES,
    Phase.BLOCKED: gate.RULES,
    Phase.CHECKING: running.RULES,
    Phase.STARTING: running.RULES,
    Phase.RUNNING: running.RULES,
    Phase.STALLED: running.RULES,
    Phase.SETTLING: running.RULES,
    Phase.UNKNOWN: running.RULES,
    Phase.FAILED: failed.RULES,
    Phase.CANCELLED: failed.RULES,
    Phase.DONE: finished.RULES,
}


def read(text: str, context: Context) -> tuple[Intent, ...]:
    """Read one message. Pure and total: any text gives at least one intent, and none raises.

    Several orders in one line come back in the order they were said, at most one for each run.
    """
    early = guards.before_reading(context)
    if early is not None:
        return (early,)
    if context.event is Event.REACTION and not text.startswith(":"):
        text = f":{text}:"
    cleaned = normalise(text, context.bot_user, context.mentioned)
    if cleaned.unaddressed:
        context = replace(context, mentioned=False)
    message = parse(cleaned, collect(context))
    strict = read_strict(cleaned, context)
    if strict is not None:
        return (guards.after_reading(strict, message, context),)
    return tuple(guards.after_reading(intent, message, context) for intent in _read(message, context))


def _read(message: Message, context: Context) -> tuple[Intent, ...]:
    question = context.question
    kind = pending.kind_of(question)
    if question is not None and kind is QuestionKind.WHICH_RUN:
        picked, answer = pending.which_run(message, question)
        if answer is not None:
            return (answer,)
        if picked:
            return tuple(_proceed(run, question, context) for run in picked)
    if question is not None and kind is QuestionKind.CANCEL_CONFIRM:
        run = context.find(question.run)
        if run is not None and set(message.runs) <= {run.id}:
            answered = decide(pending.CANCEL_RULES, Moment(message=message, run=run, context=context))
            if answered is not None:
                return (answered,)
    return _by_run(message, context)


def _proceed(run_id: str, question: PendingQuestion, context: Context) -> Intent:
    """The order that the question "which run?" was about, for the run that was picked."""
    run = context.find(run_id)
    if question.proposed == Kind.CANCEL.value:
        if run is None or not run.alive or run.phase is Phase.UNKNOWN:
            why = "cannot_reach" if run is not None and run.alive else "nothing_running"
            return Intent(kind=Kind.ASK, rule="picked_run_does_not_run", run=run_id, why=why, proposed="CANCEL")
        return Intent(kind=Kind.CANCEL, rule="picked", run=run.id, stage=run.stage)
    if run is None or not run.at_gate or run.phase is Phase.BLOCKED:
        return Intent(kind=Kind.ASK, rule="picked_run_does_not_wait", run=run_id, why="not_waiting")
    if any(not takes(run.params, name, value) for name, value in question.set.items()):
        return Intent(
            kind=Kind.ASK, rule="picked_run_takes_no_such_value", run=run.id, why="out_of_range", set=question.set
        )
    return Intent(kind=Kind.ADVANCE, rule="picked", run=run.id, from_stage=run.stage, to=run.gate_to, set=question.set)


def _by_run(message: Message, context: Context) -> tuple[Intent, ...]:
    if idle.starts_new(message, context):
        return (idle.start(message, context),)
    if len(message.addressed) > 1 and context.place is not Place.THREAD:
        parts = _parts(message) or {}
        named = [(part, context.find(run)) for run, part in parts.items()]
        if named and all(run is not None for _, run in named):
            read_each = [_for_run(part, run, context) for part, run in named if run is not None]
            return tuple(each for each in read_each if each.kind is not Kind.IGNORE) or tuple(read_each)
    addressed_one: Addressed = address(message, context)
    if addressed_one.answer is not None:
        return (addressed_one.answer,)
    if addressed_one.run is None:
        return (idle.read_without_run(message, context),)
    return (_for_run(message, addressed_one.run, context),)


def _for_run(message: Message, run: RunView, context: Context) -> Intent:
    moment = Moment(message=message, run=run, context=context)
    intent = decide(_RULES[run.phase], moment) or Intent(kind=Kind.IGNORE, rule="chatter", why="nothing_said")
    if intent.kind is not Kind.ASK or moment.problem is not None:
        return intent
    suites = list(dict.fromkeys(str(item.value) for item in message.items if item.has(Tag.SUITE)))
    return replace(intent, carried={"set": moment.values, "suite": suites})


def _parts(message: Message) -> dict[str, Message] | None:
    """Each named run's own clauses; a clause that names none belongs to the run before it, the first ones to all.

    None when the runs named don't each get an order of their own.
    """
    owned: dict[str, list[Clause]] = {run: [] for run in message.addressed}
    current: list[str] = []
    leading: list[Clause] = []
    for clause in message.clauses:
        named = [run for run in clause.addressed() if run in owned]
        current = named or current
        for run in current:
            owned[run].append(clause)
        if not current:
            leading.append(clause)
    parts = {run: message.part([*leading, *clauses]) for run, clauses in owned.items()}
    ordered = all(
        any(item.has(*ORDER_TAGS, Tag.NO, Tag.NOT, Tag.KEEP) for item in part.items) for part in parts.values()
    )
    return parts if ordered else None
