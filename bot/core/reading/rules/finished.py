"""All stages are done: measure again, compare, or look."""

from __future__ import annotations

from bot.core.reading.rules import asking, bench, values
from bot.core.reading.rules.moment import Answer, Moment, Rule, ask, hold, ignore
from bot.core.reading.rules.stray import is_stray
from bot.core.reading.tags import Tag


def emoji_alone(moment: Moment) -> Answer:
    """Nothing waits that an emoji could answer."""
    message = moment.message
    return None if message.words and not message.only(Tag.ACK) else ignore("nothing_said")


def negated(moment: Moment) -> Answer:
    """Not to do something that would not happen anyway."""
    message = moment.message
    if moment.go and (moment.stays or message.named(Tag.NOT)):
        return ask("mixed_polarity", moment)
    if not moment.go and (moment.no_go or message.find(Tag.HOLD)) and not message.asked:
        return hold(moment)
    return None


def bench_values(moment: Moment) -> Answer:
    """Values for a benchmark that nobody ordered."""
    message = moment.message
    return ask("unclear", moment, "BENCH", set=moment.values) if message.settings and not moment.go else None


def nothing_to_order(moment: Moment) -> Answer:
    """Nothing waits, runs or failed."""
    message = moment.message
    if message.has(Tag.AGAIN) and len(message.words) <= 2:
        return ask("unclear", moment, "BENCH")
    if not (moment.go or moment.ends or message.find(Tag.UNDO)):
        return None
    if is_stray(moment) or all(act.tag is Tag.YES for act in message.acts):
        return ignore("nothing_said")
    if moment.ends or message.find(Tag.UNDO):
        return ask("nothing_running", moment)
    again = any(act.tag in (Tag.RETRY, Tag.FRESH, Tag.RESUME) for act in moment.go)
    return ask("nothing_failed" if again else "nothing_waiting", moment)


RULES: tuple[Rule, ...] = (
    asking.question_mark_alone,
    asking.nothing_said,
    emoji_alone,
    asking.to_somebody_else,
    asking.question_about_the_run,
    negated,
    values.bad_value,
    bench.bench,
    bench_values,
    asking.extension,
    nothing_to_order,
    asking.view_or_metric,
    asking.chatter,
)
