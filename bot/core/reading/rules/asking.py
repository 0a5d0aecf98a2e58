"""Questions and remarks that want to be shown something, or nothing; the same in every situation."""

from __future__ import annotations

import itertools

from bot.core.reading.context import GATES
from bot.core.reading.intent import Intent
from bot.core.reading.items import Item
from bot.core.reading.questions import asks
from bot.core.reading.rules.moment import Answer, Moment, ask, ignore, show
from bot.core.reading.settings import parse_number
from bot.core.reading.tags import Tag

# Words that make a question one about a run.
_ABOUT = (
    Tag.STAGE, Tag.NOUN, Tag.METRIC, Tag.PARAM, Tag.DONE, Tag.BAD, Tag.NAN, Tag.VIEW, Tag.RUN, Tag.PAST, Tag.SUITE,
    Tag.HOST, Tag.STATE, Tag.PROCEED, Tag.CANCEL, Tag.STOP, Tag.RETRY, Tag.BEGIN, Tag.RESUME, Tag.HOLD,
)  # fmt: skip
_SHOWS = (Tag.SHOW, Tag.WH, Tag.AUX)
_WH_WORDS = ("who ", "what ", "how ", "why ", "when ", "where ", "which ")
_HOW = frozenset({"how is", "how's", "hows", "how are", "how does"})
_WHEN = frozenset(
    {"when will", "when is", "when's", "whens", "when does", "any idea when", "any clue when", "do you know when",
     "you know when", "wonder when"}
)  # fmt: skip
_ENDS = frozenset({"end", "ends", "ending", "finishing", "finish", "finishes", "completes", "stops"})
_SAMPLES = frozenset({"samples", "examples", "outputs", "generations", "answers"})
_WELL = (Tag.GOOD, Tag.FILLER, Tag.GLUE, Tag.FILL, Tag.BULK, Tag.BOTH, Tag.ARTICLE, Tag.POLITE)
_OF_OTHERS = frozenset({"approved", "approves", "agrees", "agreed", "wants", "confirmed", "allowed", "wanted"})
_TOLD_TO = frozenset({"look", "tell", "ask", "say", "write", "type", "quote", "reply", "message", "text"})
_FREE_WORDS = 5  # a bare view word counts in a message of up to so many words


def question_mark_alone(moment: Moment) -> Answer:
    """ "?" asks how it stands."""
    message = moment.message
    silent = not message.words and not message.emoji
    return show("summary", moment) if silent and message.asked else None


def nothing_said(moment: Moment) -> Answer:
    """Only quotes, code, links or white space; an ornament below a quote adds nothing."""
    message = moment.message
    removed = message.cleaned.quoted or message.cleaned.fenced
    if removed and not message.words and not any(item.has(Tag.HOLD) for item in message.emoji):
        return ignore("nothing_said")
    if any(not item.has(Tag.MARK, Tag.BOT, Tag.LINK) for item in message.items):
        return None
    return ignore("nothing_said") if not message.asked or message.items else None


def to_somebody_else(moment: Moment) -> Answer:
    """It opens with the mention of a person, and the bot is not mentioned before."""
    said = [item for item in moment.message.whole.items if not item.has(Tag.MARK, Tag.POLITE, Tag.ADDRESS)]
    if not said or not said[0].has(Tag.PERSON) or moment.message.find(Tag.HOLD):
        return None
    tells = len(said) > 1 and (said[1].has(Tag.REPORT, Tag.REVIEW) or said[1].text in _OF_OTHERS)
    if tells and said[1].text not in _TOLD_TO and not moment.message.asked:  # "@anna says we can continue"
        return None
    return ignore("to_somebody_else")


def question_about_the_run(moment: Moment) -> Answer:
    """who/why/how: never an order, whatever words follow."""
    message = moment.message
    if message.has(Tag.HEDGE) and moment.go:
        return None
    if [item.text for item in message.words] in (["when", "done"], ["when", "ready"], ["when", "finished"]):
        return show("eta" if moment.run.alive else "summary", moment)
    firsts = [_first(clause.items) for clause in message.clauses]
    opens_wh = any(first and _is_wh(first) for first in firsts)
    return _show(moment, asked=True) if opens_wh else None


def _is_wh(item: Item) -> bool:
    return item.has(Tag.WH) or (item.text.startswith(_WH_WORDS) and not item.has(Tag.WAIVE, Tag.MODAL))


def view_or_metric(moment: Moment) -> Answer:
    """A view or metric by name, or a yes/no question about how the run stands; no order in it."""
    message = moment.message
    asked = message.asked or message.has(Tag.SHOW, Tag.WH, Tag.NEED)
    if message.acts and not asked:
        return None
    praised = message.has(Tag.PRAISE) and not any(
        item.has(Tag.VIEW) and not item.has(Tag.NOUN) for item in message.items
    )
    blamed = message.has(Tag.BAD, Tag.NAN) and not message.named(Tag.VIEW)
    named = not blamed and message.named(Tag.VIEW, Tag.METRIC) and len(message.words) <= _FREE_WORDS and not praised
    if asked or named:
        return _show(moment, asked=message.asked)
    return None


def _first(items: tuple[Item, ...]) -> Item | None:
    return next(
        (item for item in items if not item.has(Tag.POLITE, Tag.ADDRESS, Tag.FILLER, Tag.BOT, Tag.AND, Tag.MARK)), None
    )


def _show(moment: Moment, *, asked: bool) -> Intent | None:
    message = moment.message
    unknown = sum(item.has(Tag.UNKNOWN, Tag.TIME, Tag.LINK) for item in message.words)
    about = sum(item.has(*_ABOUT) or item.text in _ENDS for item in message.words)
    asked = asked or message.has(Tag.WH)
    if _how_is_it(message.words):
        about += _FREE_WORDS
    if unknown > about or (unknown and not asked):
        return None
    plain = _plain_question(message.words)
    if plain is not None:
        return show(_eta(moment) if plain == "eta" else plain, moment)
    chosen = _chosen(message.items)
    if chosen is not None:
        return _view(moment, chosen)
    metric = next((item for item in message.items if item.has(Tag.METRIC)), None)
    if metric is not None and not message.has(Tag.BAD, Tag.NAN):
        return show("metric", moment, metric=str(metric.value))
    if message.asked and any(item.has(Tag.PARAM) and not item.has(Tag.NOUN) for item in message.items):
        return show("plan", moment)
    if about or (message.asked and not unknown and any(asks(clause) for clause in message.clauses)):
        return show("summary", moment)
    return show("summary", moment) if message.only(*_WELL) and message.asked else None


def _how_is_it(words: tuple[Item, ...]) -> bool:
    """ "how's it coming along": whatever it is asked in, it is asked about the run."""
    said = [item.text for item in words]
    return any(first in _HOW and second in ("it", "this", "that") for first, second in itertools.pairwise(said))


def _plain_question(words: tuple[Item, ...]) -> str | None:
    """The view that a who, when or what asks for by the words behind it, in any order."""
    for at, item in enumerate(words):
        after = words[at + 1 :]
        if _is_wh(item) and item.text.split()[0] in ("who", "who's", "whos") and any(_did(each) for each in after):
            return "audit"
        if (
            _is_wh(item)
            and item.text.startswith("what")
            and any(each.text.startswith("next ") or each.text in ("will you", "would you") for each in after)
        ):
            return "plan"
        if item.text in _WHEN and any(each.has(Tag.DONE) or each.text in _ENDS for each in after):
            return "eta"
        if item.has(Tag.SHOW) and words[-1].text in _SAMPLES:
            return "samples"
    return None


def _did(item: Item) -> bool:
    return item.text not in ("running", "going", "waiting") and item.has(Tag.PAST, Tag.PROCEED)


def _chosen(items: tuple[Item, ...]) -> Item | None:
    """The view that is named; a word that is a mere noun as well ("samples") gives way to one that is not."""
    views = [item for item in items if item.has(Tag.VIEW)]
    plain = [item for item in views if not item.has(Tag.NOUN)]
    if any(item.has(Tag.METRIC) for item in items) and all(item.value == "summary" for item in plain):
        return None
    return max(plain or views, key=lambda item: len(item.text), default=None)


def _view(moment: Moment, item: Item) -> Intent:
    view = str(item.value)
    message = moment.message
    if view == "eta":
        view = _eta(moment)
    if view == "logs":
        counted = [parse_number(word.text) for word in message.items if word.has(Tag.NUMBER)]
        whole = [number for number in counted if isinstance(number, int) and 0 < number <= 10_000]
        return show(view, moment, **({"lines": whole[0]} if whole else {}))
    if view == "compare":
        others = [run for run in message.runs if run != moment.run.id]
        return show(view, moment, **({"with": others[0]} if others else {}))
    return show(view, moment)


def _eta(moment: Moment) -> str:
    """How long a stage to come will take is in the plan; where nothing runs, nothing ends."""
    named = [stage for clause in moment.message.clauses for stage in clause.stages()]
    if any(moment.index(stage) > moment.index(moment.run.stage) for stage in named):
        return "plan"
    return "summary" if moment.run.phase in GATES or not moment.run.alive else "eta"


def extension(moment: Moment) -> Answer:
    """ "generate 5k more": more of the same data, proposed with its cost."""
    message = moment.message
    again = any(act.tag is Tag.DO_STAGE and act.stage == moment.run.stage for act in moment.go)
    if not (message.find(Tag.EXTEND) or (again and message.has(Tag.MORE))) or not message.has(Tag.MORE, Tag.NUMBER):
        return None
    if not message.has(Tag.MORE) and not message.has(Tag.NOUN):
        return None
    counts = [parse_number(item.text) for item in message.items if item.has(Tag.NUMBER)]
    added = next((number for number in counts if isinstance(number, int) and number > 0), None)
    return ask("extend", moment, "EXTEND", **({"add": added} if added else {}))


def chatter(moment: Moment) -> Answer:
    """Thanks, praise, talk about something else."""
    return ignore("nothing_said")
