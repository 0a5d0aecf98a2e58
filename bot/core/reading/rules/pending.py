"""The bot has just asked something of this speaker: is it answered?"""

from __future__ import annotations

from collections.abc import Sequence

from bot.core.reading.acts import END_TAGS
from bot.core.reading.context import PendingQuestion, QuestionKind
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.items import Item
from bot.core.reading.message import Message
from bot.core.reading.objections import objections
from bot.core.reading.rules.moment import Answer, Moment, Rule, ask, hold
from bot.core.reading.tags import Tag

_REFUSES = (Tag.HOLD, Tag.KEEP, Tag.NO)
_DROPS = frozenset({Tag.UNDO, Tag.SKIP})
_THE_QUESTION = frozenset({"cancellation", "cancelation", "cancelling", "canceling", "question", "request"})
_POINTERS = frozenset({"that", "this"})
_SAME_WORD = frozenset({"cancel", "abort"})  # what the question itself says, or means
_SHORT_YES = frozenset({"y"})


def declined(moment: Moment) -> Answer:
    """ "no", "don't", "keep it running": what was asked about is left as it is."""
    message = moment.message
    if _takes_back(moment):
        return ask("mixed_polarity", moment, "CANCEL") if moment.go else hold(moment, declines="CANCEL")
    spared = message.find(Tag.CANCEL, Tag.STOP, negated=True)
    loose = any(clause.loose_not for clause in message.clauses)
    against = spared or loose or moment.no_go or message.has(Tag.NO, Tag.KEEP, Tag.MISTAKE) or message.find(Tag.HOLD)
    if not against or message.named(Tag.UNKNOWN):
        return None
    if moment.ends or moment.go:
        return ask("mixed_polarity", moment, "CANCEL")
    return hold(moment, declines="CANCEL")


def confirmed(moment: Moment) -> Answer:
    """A plain yes, or the order said once more."""
    message = moment.message
    ends = [act for act in moment.ends if act.tag in (Tag.CANCEL, Tag.STOP)]
    short = len(message.words) == 1 and message.words[0].text in _SHORT_YES
    yes = [act for act in moment.go if act.tag in (Tag.YES, Tag.CONFIRM) or act.text == "do it"]
    if not ends and not yes and not short:
        return None
    why = moment.objection("complaint")
    doubtful = _may_take_back(moment)
    praised = message.claims or message.has(Tag.GOOD, Tag.PRAISE)
    told = not ends and message.has(
        Tag.NUMBER, Tag.REVIEW, Tag.AUX
    )  # "yes, 62%", "yes, i saw it": answers somebody else
    if why is None and (len(yes) < len(moment.go) or message.settings or doubtful or praised or told):
        why = "unclear"
    if why is None and any(act.stage not in (None, moment.run.stage) for act in ends):
        why = "wrong_stage"
    if why is not None:
        return ask(why, moment, "CANCEL")
    return Intent(kind=Kind.CANCEL, rule="", run=moment.run.id, stage=moment.run.stage)


def _takes_back(moment: Moment) -> bool:
    """ "cancel the cancel", "stop the cancellation", "undo that request": the order is against the question itself."""
    for clause in moment.message.clauses:
        against = [act.at for act in clause.acts if act.tag in END_TAGS | _DROPS and not act.negated]
        asked = [at for at, item in enumerate(clause.items) if _is_the_question(clause.items, at, item)]
        if against and any(min(against) < at for at in asked):
            return True
    return False


def _is_the_question(items: Sequence[Item], at: int, item: Item) -> bool:
    named = at > 0 and items[at - 1].has(Tag.ARTICLE, Tag.MY, Tag.GLUE)
    return item.text in _THE_QUESTION or (named and item.has(*END_TAGS))


def _may_take_back(moment: Moment) -> bool:
    """ "cancel" or "abort that" after "Cancel r12?" may be against the question as well as confirm it."""
    words = [item for item in moment.message.words if not item.has(Tag.POLITE, Tag.NOW)]
    ends = [item for item in words if item.has(Tag.CANCEL, Tag.STOP)]
    bare = bool(ends) and all(item in ends or item.text in _POINTERS for item in words)
    points = any(item.text.split()[-1] in _POINTERS for item in words)
    of_the_question = any(item.text in _THE_QUESTION for item in words) or len(ends) > 1
    return of_the_question or (bare and (points or any(item.text in _SAME_WORD for item in ends)))


def neither_yes_nor_no(moment: Moment) -> Answer:
    """A filler or an emoji is no confirmation."""
    message = moment.message
    if message.asked and not message.acts and message.named(Tag.VIEW, Tag.METRIC, Tag.WH):
        return None
    if message.only(Tag.ACK) or (not message.words and message.emoji):
        if any(item.has(Tag.HOLD) for item in message.emoji):
            return hold(moment, declines="CANCEL")
        return ask("ack_emoji", moment, "CANCEL")
    if message.only(Tag.FILLER, Tag.POLITE, Tag.GOOD, Tag.LGTM) and message.named(Tag.FILLER, Tag.GOOD, Tag.LGTM):
        return ask("filler", moment, "CANCEL")
    lone = len(message.words) == 1 and message.has(Tag.UNKNOWN, Tag.HEDGE)
    return ask("unclear", moment, "CANCEL") if moment.go or moment.ends or lone else None


CANCEL_RULES: tuple[Rule, ...] = (declined, confirmed, neither_yes_nor_no)


def which_run(message: Message, question: PendingQuestion) -> tuple[list[str], Intent | None]:
    """The candidates that an answer to "which run?" picks; or what to answer instead.

    Picks by exact id, its bare number, the place in the question, or an unambiguous name.
    """
    every = list(question.candidates)
    against = message.named(Tag.NOT) or message.has(Tag.NO)
    if message.named(Tag.NEITHER) or (against or message.find(Tag.HOLD, Tag.STOP, Tag.CANCEL)):
        named = list(message.runs)
        if named:
            return [], _which(question)
        return [], Intent(kind=Kind.HOLD, rule="none_of_them", run=tuple(every))
    against_it = objections(message)
    if against_it and against_it[0] != "unclear":
        return [], _which(question, against_it[0], _picked(message, every))
    picked = _picked(message, every)
    if any(run not in every for run in picked):
        return [], Intent(kind=Kind.ASK, rule="no_such_candidate", why="unknown_run", more={"candidates": every})
    both = message.named(Tag.BOTH)
    if (picked or both) and all(item.has(*_PICKING, Tag.BOTH) or item.text in ("run", "one") for item in message.words):
        return every if both else picked, None
    return [], _which(question) if message.words or message.emoji else None


_PICKING = (
    Tag.RUN, Tag.NUMBER, Tag.FIRST, Tag.SECOND, Tag.POLITE, Tag.AND, Tag.ARTICLE, Tag.PROCEED, Tag.YES, Tag.FILLER,
    Tag.BEGIN, Tag.NOW, Tag.STAGE, Tag.ONLY,
)  # fmt: skip


def _picked(message: Message, candidates: list[str]) -> list[str]:
    picked = list(message.runs)
    for item in message.items:
        if item.has(Tag.FIRST):
            picked += candidates[:1]
        elif item.has(Tag.SECOND):
            picked += candidates[1:2]
        elif item.has(Tag.NUMBER) and item.text.isdecimal() and len(item.text) <= 6:
            picked.append(_by_number(int(item.text), candidates))
    return list(dict.fromkeys(picked))


def _by_number(number: int, candidates: list[str]) -> str:
    """A bare number is a run's own number first ("12"), else its place in the question ("1")."""
    if f"r{number}" in candidates:
        return f"r{number}"
    return candidates[number - 1] if 1 <= number <= len(candidates) else f"r{number}"


def _which(question: PendingQuestion, why: str = "which_run", picked: list[str] | None = None) -> Intent:
    if picked and len(picked) == 1 and why == "question":
        return Intent(kind=Kind.ASK, rule="asked_back", run=picked[0], why=why, proposed=question.proposed)
    return Intent(
        kind=Kind.ASK,
        rule="which_run_still_open",
        why="which_run",
        proposed=question.proposed,
        more={"candidates": list(question.candidates)},
        carried={"set": question.set},
    )


def kind_of(question: PendingQuestion | None) -> QuestionKind | None:
    """What the speaker is asked, if anything."""
    return question.kind if question is not None and question.to_speaker else None
