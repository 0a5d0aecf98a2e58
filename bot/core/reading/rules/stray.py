"""Order words in talk about something else."""

from __future__ import annotations

from bot.core.reading.clauses import Clause
from bot.core.reading.rules.moment import Answer, Moment, ignore
from bot.core.reading.tags import Tag


def stray_order_word(moment: Moment) -> Answer:
    """ "cancel my meeting", "the talk will continue": an order word in talk about something else."""
    meant = moment.message.has(Tag.CONDITION, Tag.REPORT, Tag.HEDGE, Tag.TIME) and not _names(moment)
    return ignore("nothing_said") if moment.go and not meant and is_stray(moment) else None


def is_stray(moment: Moment) -> bool:
    """Whether the order words are about something the bot doesn't know, and nothing in it is about the run."""
    message = moment.message
    if message.named(Tag.STAGE, Tag.RUN, Tag.PARAM, Tag.METRIC) or message.settings:
        return False
    order_clauses = [clause for clause in message.clauses if clause.acts]
    strange = [sum(item.has(Tag.UNKNOWN) for item in clause.items) for clause in order_clauses]
    known = [len(clause.items) - count for clause, count in zip(order_clauses, strange, strict=True)]
    his = any(clause.has(Tag.MY) and count for clause, count in zip(order_clauses, strange, strict=True))
    told = any(count and _tells(clause) for clause, count in zip(order_clauses, strange, strict=True))
    leads = [clause.acts[0].at == 0 for clause in order_clauses]
    return his or told or any(s > k or (s == k and led) for s, k, led in zip(strange, known, leads, strict=True))


def _names(moment: Moment) -> bool:
    """ "the go compiler": the order word stands between an article and an unknown word, and so is part of a name."""
    acts = [(clause.items, act.at) for clause in moment.message.clauses for act in clause.acts]
    return bool(acts) and all(
        0 < at < len(items) - 1 and items[at - 1].has(Tag.ARTICLE) and items[at + 1].has(Tag.UNKNOWN)
        for items, at in acts
    )


def _tells(clause: Clause) -> bool:
    """Whether a subject stands before the order word: "the talk will continue"."""
    before = clause.items[: clause.acts[0].at]
    return any(item.has(Tag.ARTICLE, Tag.AUX, Tag.SUBJECT, Tag.MY, Tag.TO) for item in before)
