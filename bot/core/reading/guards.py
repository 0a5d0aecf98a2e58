"""What the moment allows: bots, deletions, strangers, old messages, edits and talk that is not for the bot."""

from __future__ import annotations

from bot.core.reading.context import STALE_AFTER_S, Context, Event
from bot.core.reading.intent import ACTIONS, Intent, Kind, Value
from bot.core.reading.message import Message
from bot.core.reading.tags import Tag

_HARMLESS = frozenset({Kind.STATUS, Kind.IGNORE})


def before_reading(context: Context) -> Intent | None:
    """What needs no reading at all."""
    if context.speaker_is_bot:
        return Intent(kind=Kind.IGNORE, rule="from_a_bot", why="bot_message")
    if context.event is Event.DELETION:
        return Intent(kind=Kind.IGNORE, rule="deleted", why="deleted")
    return None


def after_reading(intent: Intent, message: Message, context: Context) -> Intent:
    """The reading as the moment allows it; only ever towards doing less."""
    for guard in (_stranger, _reaction, _edit, _overheard, _stale):
        intent = guard(intent, message, context)
    return intent


def _as_question(intent: Intent, rule: str, why: str, **more: object) -> Intent:
    proposed = intent.proposed or (intent.kind.value if intent.acts else None)
    return Intent(
        kind=Kind.ASK,
        rule=rule,
        run=intent.run,
        set=intent.set,
        why=why,
        proposed=proposed,
        more=more,
        carried=_carried(intent),
    )


def _carried(intent: Intent) -> dict[str, Value]:
    return dict(intent.carried) or {"set": dict(intent.set), "suite": intent.more.get("suite", [])}


def _stranger(intent: Intent, message: Message, context: Context) -> Intent:
    """Looking is open to all, and so is the safe direction; everything else is refused, to that person alone."""
    if context.speaker_allowed or intent.kind in _HARMLESS or intent.kind is Kind.HOLD:
        return intent
    return Intent(kind=Kind.IGNORE, rule="not_allowed", why="not_authorized")


def _reaction(intent: Intent, message: Message, context: Context) -> Intent:
    """A reaction never acts."""
    if context.event is Event.REACTION and intent.acts:
        return _as_question(intent, "reaction", "ack_emoji")
    return intent


def _edit(intent: Intent, message: Message, context: Context) -> Intent:
    """An edit of an order that was carried out starts nothing; a changed mind is offered a cancel."""
    edited = context.edited
    if context.event is not Event.EDIT or edited is None or not edited.acted or intent.kind is Kind.STATUS:
        return intent
    against = intent.kind in (Kind.HOLD, Kind.CANCEL) or intent.proposed == "CANCEL"
    if against:
        return Intent(
            kind=Kind.ASK, rule="edited_after_it_acted", run=intent.run, why="edit_after_action", proposed="CANCEL"
        )
    if intent.acts or (intent.kind is Kind.ASK and message.settings):
        return _as_question(intent, "edited_after_it_acted", "edit_after_action")
    return Intent(kind=Kind.IGNORE, rule="edited_after_it_acted", run=intent.run, why="already_advanced")


def _overheard(intent: Intent, message: Message, context: Context) -> Intent:
    """Said to nobody in particular, at top level: an order asks, all else is left alone."""
    if context.addressed or intent.kind is Kind.IGNORE:
        return intent
    named = bool(message.runs)
    one_word = len(message.words) <= 2 and bool(context.runs)
    if intent.kind is Kind.HOLD or (intent.kind is Kind.STATUS and (named or (one_word and message.named(Tag.VIEW)))):
        return intent
    if context.runs and intent.acts:
        return _as_question(intent, "not_addressed", "not_addressed")
    return Intent(kind=Kind.IGNORE, rule="not_addressed", why="not_addressed")


def _stale(intent: Intent, message: Message, context: Context) -> Intent:
    """Orders from history, older than a quarter of an hour, ask once."""
    if context.age_s <= STALE_AFTER_S or intent.kind not in ACTIONS:
        return intent
    age = {"age_h": round(context.age_s / 3600)} if context.age_s >= 3600 else {"age_min": round(context.age_s / 60)}
    return _as_question(intent, "stale", "stale_message", **age)
