"""Words that keep a gate shut: wait, not yet, later, no; and what asks because it says both."""

from __future__ import annotations

from bot.core.reading.acts import BARE_TAGS, GO_TAGS
from bot.core.reading.clauses import PUTTING, Clause
from bot.core.reading.questions import asks
from bot.core.reading.rules.moment import Answer, Moment, ask, hold, ignore
from bot.core.reading.rules.stray import is_stray
from bot.core.reading.tags import Tag


def asked_whether_to_wait(moment: Moment) -> Answer:
    """ "should we hold?" is a question, other than "wait?"."""
    message = moment.message
    if message.find(Tag.HOLD, Tag.STOP) and any(asks(clause) for clause in message.clauses) and not moment.go:
        return ask("question", moment, "HOLD")
    return None


def waits_and_asks(moment: Moment) -> Answer:
    """ "wait, why only 7912?": who says wait and asks, waits."""
    clauses = [clause for clause in moment.message.clauses if any(not item.has(Tag.MARK) for item in clause.items)]
    first = clauses[0] if len(clauses) > 1 else None
    if first is None or first.asked or moment.go:
        return None
    held = any(act.tag is Tag.HOLD and not act.negated for act in first.acts)
    plain = all(item.has(Tag.HOLD, Tag.POLITE, Tag.ADDRESS, Tag.FILLER, Tag.NO) for item in first.items)
    return hold(moment) if held and plain and any(asks(clause) for clause in clauses[1:]) else None


def first_something_else(moment: Moment) -> Answer:
    """Approval with a pre-condition: "lgtm but check the curve first", "before we continue"."""
    message = moment.message
    if message.asked:
        return None
    before = any(_held_before(clause) for clause in message.clauses) and not message.has(Tag.WITHOUT)
    checks = message.has(Tag.FIRST) and message.has(Tag.REVIEW, Tag.CHECK, Tag.EXTEND, Tag.RETRY)
    return hold(moment) if before or checks else None


def _held_before(clause: Clause) -> bool:
    """ "look at it before we start"; other than "start it before the weekend"."""
    at = next((i for i, item in enumerate(clause.items) if item.has(Tag.BEFORE)), None)
    if at is None:
        return False
    ordered = any(act.at < at and act.tag in GO_TAGS and not act.negated for act in clause.acts)
    return not ordered or any(item.has(Tag.STAGE, *GO_TAGS) for item in clause.items[at + 1 :])


def safe_line_wins(moment: Moment) -> Answer:
    """Of two lines, one that goes and one that waits, the safe one wins; so does what follows a "but"."""
    if not moment.go or not (moment.stays or moment.message.find(Tag.STOP)):
        return None
    clauses = moment.message.clauses
    waits = [clause for clause in clauses if _waits(clause)]
    goes = {clause.line for clause in clauses if any(act in moment.go for act in clause.acts)}
    apart = any(clause.line not in goes for clause in waits)
    after_but = any(clause.has(Tag.BUT) for clause in waits)
    yes_only = all(act.tag in BARE_TAGS for act in moment.go) and bool(moment.no_go)
    return hold(moment) if (apart and len(goes) >= 1 and waits) or after_but or yes_only else None


def _waits(clause: Clause) -> bool:
    holding = any(act.tag in (Tag.HOLD, Tag.STOP) and not act.negated for act in clause.acts)
    return holding or clause.loose_not or clause.has(Tag.NO) or any(act.negated for act in clause.acts)


def for_and_against(moment: Moment) -> Answer:
    """Mixed polarity asks: "no yeah go", "don't wait, continue"."""
    message = moment.message
    against = moment.stays or message.find(Tag.STOP) or message.named(Tag.NOT) or message.has(Tag.NO)
    if moment.go and against and not message.has(Tag.CONDITION, Tag.TIME):
        return ask("mixed_polarity", moment, "ADVANCE")
    return None


def told_to_stay(moment: Moment) -> Answer:
    """ "don't continue", "not yet", "no": the gate stays shut."""
    message = moment.message
    if moment.go or not moment.stays:
        return None
    strange = sum(item.has(Tag.UNKNOWN) for item in message.words)
    plain = bool(moment.no_go) or any(_leads(clause) for clause in message.clauses) or strange == 0
    return hold(moment) if plain else None


LEADING = (Tag.POLITE, Tag.ADDRESS, Tag.FILLER, Tag.BOT, Tag.AND, Tag.GLUE, Tag.FILL, Tag.PERMIT, Tag.BUT, Tag.RUN)


def _leads(clause: Clause) -> bool:
    """Whether a clause opens with the word that holds."""
    first = next((item for item in clause.items if not item.has(*LEADING) and item.text not in PUTTING), None)
    return first is not None and first.has(Tag.HOLD, Tag.STOP, Tag.NOT, Tag.NO)


_FAREWELLS = frozenset({"see you", "cya", "bye", "good night", "gn"})
_LEFT = ("leave it", "let it be")


def stop_or_later(moment: Moment) -> Answer:
    """Nothing runs at a gate, so "stop" means: don't start. "later" and "tomorrow" mean the same."""
    message = moment.message
    if moment.go or message.asked:
        return None
    stops = [act for act in message.find(Tag.STOP) if not act.negated]
    strange = message.named(Tag.UNKNOWN)
    if stops and (not strange or any(_leads(clause) for clause in message.clauses)):
        return hold(moment)
    if any(item.has(Tag.KEEP) and item.text.startswith(_LEFT) for item in message.items) and not strange:
        return hold(moment)
    if message.has(Tag.NEED) and not message.named(Tag.VIEW) and (message.has(Tag.TIME, Tag.CONDITION)):
        return hold(moment)
    postponed = message.has(Tag.LATER) or (message.has(Tag.TIME) and not message.has(Tag.SUBJECT))
    leaves = any(item.text in _FAREWELLS for item in message.items)  # "see you tomorrow" puts nothing off
    return hold(moment) if postponed and not (strange or leaves or message.settings) else None


def cancel_at_gate(moment: Moment) -> Answer:
    """Nothing runs that could be cancelled: cancel the run, or only not start?"""
    if not moment.ends and not moment.message.find(Tag.UNDO):
        return None
    if is_stray(moment):
        return ignore("nothing_said")
    return ask("question" if moment.message.asked else "nothing_running", moment, "CANCEL")
