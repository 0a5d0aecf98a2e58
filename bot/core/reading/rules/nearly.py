"""A few words, one of them a slip away from an order: not enough to act on, but worth asking."""

from __future__ import annotations

from bot.core.reading.context import Place
from bot.core.reading.fuzzy import ACT_FROM, slip
from bot.core.reading.rules.moment import Answer, Moment, ask
from bot.core.reading.tags import Tag
from bot.core.reading.vocabulary import ACTING_SLIPS, ORDINARY

_FEW = 3
_BESIDE = (Tag.STAGE, Tag.PROCEED, Tag.POLITE, Tag.FILLER, Tag.ARTICLE, Tag.NOW, Tag.YES, Tag.RUN)
_SECONDS = ("ahead", "forward")  # of "go ahead"


def nearly_an_order(moment: Moment) -> Answer:
    """ "strart training", "go ahaed", "cotninue pls": wider than a slip that may act, so it only asks."""
    message = moment.message
    strange = [item.text for item in message.words if item.has(Tag.UNKNOWN)]
    rest = [item for item in message.words if not item.has(Tag.UNKNOWN)]
    plain = len(message.words) <= _FEW and all(item.has(*_BESIDE) for item in rest) and not message.asked
    if not plain or len(strange) != 1 or moment.context.place is not Place.THREAD:
        return None
    typed = strange[0]
    goes = any(item.text == "go" for item in rest)
    meant = (*ACTING_SLIPS.get(typed[0], ()), *(_SECONDS if goes else ()))
    near = typed.isascii() and any(len(word) >= ACT_FROM and slip(typed, word) for word in meant)
    return ask("unclear", moment, "ADVANCE") if near and typed not in ORDINARY else None
