"""Which run a message is about: its thread, else an exact id or name, else the only one that waits."""

from __future__ import annotations

from dataclasses import dataclass

from bot.core.reading.acts import END_TAGS, GO_TAGS
from bot.core.reading.context import Context, Place, RunView
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.message import Message
from bot.core.reading.tags import Tag

_LOOKING = frozenset({"compare"})


@dataclass(frozen=True)
class Addressed:
    """One run, or an answer instead, or neither (no run is meant)."""

    run: RunView | None = None
    answer: Intent | None = None


def address(message: Message, context: Context) -> Addressed:
    """Find the run. Never by a prefix of an id, never by a guess at one."""
    if context.place is Place.THREAD and context.thread_run is not None:
        return _in_thread(message, context)
    bulk = _bulk(message, context)
    if bulk is not None:
        return Addressed(answer=bulk)
    if message.addressed:
        return _by_id(message, context)
    return _by_state(message, context)


def _orders(message: Message) -> bool:
    return bool(message.acts or message.settings)


def _proposed(message: Message) -> str | None:
    if message.find(*END_TAGS):
        return "CANCEL"
    return "ADVANCE" if message.find(*GO_TAGS) else "OVERRIDE" if message.settings else None


def _candidates(context: Context) -> list[str]:
    return [run.id for run in context.runs]


def _in_thread(message: Message, context: Context) -> Addressed:
    thread = context.find(context.thread_run)
    spoken_to = message.runs and [run for clause in message.clauses for run in clause.addressed()]
    others = [run for run in spoken_to if run != context.thread_run]
    views = {str(item.value) for item in message.items if item.has(Tag.VIEW)}
    if not others or views & _LOOKING or message.has(Tag.SAME):
        return Addressed(run=thread)
    named = context.find(others[0])
    if named is None:
        if not _orders(message) and not views:
            return Addressed(run=thread)
        more = {"candidates": _candidates(context)}
        return Addressed(answer=Intent(kind=Kind.ASK, rule="no_such_run", why="unknown_run", more=more))
    if _orders(message) and not (message.find(Tag.HOLD) and not message.find(*GO_TAGS, *END_TAGS)):
        both = {"named": named.id, "thread": context.thread_run}
        return Addressed(
            answer=Intent(
                kind=Kind.ASK,
                rule="thread_names_other_run",
                why="thread_names_other_run",
                proposed=_proposed(message),
                more=both,
            )
        )
    return Addressed(run=named)


def _bulk(message: Message, context: Context) -> Intent | None:
    """Everything at once: cancelling asks, holding is safe."""
    if len(context.runs) < 2 or not message.named(Tag.BULK, Tag.BOTH) or message.runs:
        return None
    ids = tuple(run.id for run in context.runs)
    if message.find(*END_TAGS):
        more = {"candidates": list(ids)}
        return Intent(kind=Kind.ASK, rule="everything_at_once", why="bulk", proposed="CANCEL", more=more)
    if message.find(Tag.HOLD) and not message.find(*GO_TAGS):
        return Intent(kind=Kind.HOLD, rule="hold_them_all", run=ids)
    if message.find(*GO_TAGS):
        more = {"candidates": list(ids)}
        return Intent(kind=Kind.ASK, rule="everything_at_once", why="bulk", proposed="ADVANCE", more=more)
    return None


def _by_id(message: Message, context: Context) -> Addressed:
    run = context.find(message.addressed[0])
    if run is not None and len(message.addressed) == 1:
        return Addressed(run=run)
    missing = [name for name in message.addressed if context.find(name) is None]
    more = {"candidates": _candidates(context)}
    if missing:
        return Addressed(answer=Intent(kind=Kind.ASK, rule="no_such_run", why="unknown_run", more=more))
    return Addressed(answer=_which(message, _candidates(context)))


def _by_state(message: Message, context: Context) -> Addressed:
    if not context.runs:
        return Addressed()
    if not _meant(message):
        return Addressed(run=context.runs[0] if len(context.runs) == 1 else None)
    if message.find(*END_TAGS) and len(context.runs) > 1:
        return Addressed(answer=_which(message, _candidates(context)))
    waiting = [run for run in context.runs if run.at_gate]
    if len(context.runs) == 1:
        return Addressed(run=context.runs[0])
    if not _orders(message) and not message.claims and not message.has(Tag.WHICH) and not _picks(message):
        return Addressed()
    if len(waiting) == 1:
        return Addressed(run=waiting[0])
    stays = (
        message.find(Tag.HOLD, Tag.STOP) or any(clause.loose_not for clause in message.clauses) or message.has(Tag.NO)
    )
    refuses = [act for act in message.acts if act.negated]
    if (stays or refuses) and not message.find(*GO_TAGS):
        ids = tuple(run.id for run in waiting or context.runs)
        return Addressed(answer=Intent(kind=Kind.HOLD, rule="hold_what_waits", run=ids))
    return Addressed(answer=_which(message, [run.id for run in waiting] or _candidates(context)))


def _picks(message: Message) -> bool:
    """ "the first one": an answer to a question that was not asked."""
    return message.only(Tag.FIRST, Tag.SECOND, Tag.POLITE, Tag.FILLER, Tag.ARTICLE) and message.named(
        Tag.FIRST, Tag.SECOND
    )


def _meant(message: Message) -> bool:
    return (
        _orders(message)
        or bool(message.claims)
        or message.has(Tag.WHICH, Tag.VIEW, Tag.METRIC, Tag.NO)
        or message.asked
        or _picks(message)
    )


def _which(message: Message, candidates: list[str]) -> Intent:
    more = {"candidates": candidates}
    untaken = next((each for each in message.settings if each.problem or each.names_another_stage), None)
    if untaken is not None:  # said before the run is picked, so that no pick starts it without the value
        why = untaken.problem or "unknown_param"
        return Intent(kind=Kind.ASK, rule="which_run_and_which_value", why=why, more={**more, "param": untaken.name})
    given = {setting.name: setting.value for setting in message.settings if setting.value is not None}
    return Intent(
        kind=Kind.ASK,
        rule="which_run",
        why="which_run",
        proposed=_proposed(message),
        more=more,
        carried={"set": given},
    )
