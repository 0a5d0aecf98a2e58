"""A gate is open: pass it, change a value, keep it shut, or ask."""

from __future__ import annotations

from bot.core.reading.acts import BARE_TAGS
from bot.core.reading.context import Phase, Place
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.rules import asking, bench, leaning, stay, stray, values
from bot.core.reading.rules.moment import Answer, Moment, Rule, ask, hold, ignore
from bot.core.reading.rules.nearly import nearly_an_order
from bot.core.reading.rules.times import timing
from bot.core.reading.tags import Tag


def emoji_alone(moment: Moment) -> Answer:
    """An emoji can hold, but never start."""
    message = moment.message
    if message.words and not message.only(Tag.ACK):
        return None
    if any(item.has(Tag.HOLD) for item in message.emoji):
        return hold(moment)
    if any(item.has(Tag.ACK) for item in message.items):
        return ask("ack_emoji", moment, "ADVANCE")
    if any(item.has(Tag.HYPE) for item in message.emoji):
        return ask("hype", moment, "ADVANCE")
    return ignore("nothing_said")


def skips_a_stage(moment: Moment) -> Answer:
    """ "skip training", "continue to benchmark", "no bench needed"."""
    message = moment.message
    named = [stage for clause in message.clauses for stage in clause.stages()]
    target = next((act.stage for act in moment.go if act.stage), None)
    if message.find(Tag.SKIP) and named:
        jumps = any(act.text.endswith("to") for act in message.find(Tag.SKIP))
        return ask("skips_stage", moment, skips=moment.run.gate_to if jumps else named[0])
    puts_off = message.has(Tag.TIME, Tag.LATER) or any(item.text == "yet" for item in message.items)
    if message.has(Tag.NO) and named and not message.asked and not puts_off:
        return ask("skips_stage", moment, skips=named[0])
    ahead = target is not None and moment.index(target) > moment.index(moment.run.gate_to) >= 0
    continues = any(act.tag is Tag.PROCEED and act.stage == target for act in moment.go)
    if ahead and continues and not message.asked:
        return ask("skips_stage", moment, skips=moment.run.gate_to)
    return None


def asked_whether_to_go(moment: Moment) -> Answer:
    """ "continue?"; advice ("should I continue?") gets no button."""
    message = moment.message
    if not moment.go or not message.asked:
        return None
    advice = any(item.text.startswith(("should", "shall")) for item in message.items)
    return ask("question", moment, None if advice else "ADVANCE")


def stage_that_does_not_wait(moment: Moment) -> Answer:
    """The claim or the order is about another stage than the one at the gate."""
    run, message = moment.run, moment.message
    claimed = [claim.stage for claim in message.claims if claim.stage]
    if any(moment.index(stage) > moment.index(run.stage) for stage in claimed):
        return ask("wrong_stage", moment)
    if any(moment.index(stage) < moment.index(run.stage) for stage in claimed):
        return ask("wrong_stage", moment)
    repeats = message.find(Tag.RETRY, Tag.FRESH) or (message.has(Tag.AGAIN) and message.find(Tag.BEGIN))
    target = next((act.stage for act in moment.go if act.stage), None)
    if target is not None and moment.index(target) <= moment.index(run.stage):
        return ask("stage_already_done", moment)
    return ask("stage_already_done", moment) if repeats else None


def chained(moment: Moment) -> Answer:
    """ "continue & bench right after": one order passes one gate."""
    named = [stage for clause in moment.message.clauses for stage in clause.stages()]
    later = next((stage for stage in named if moment.index(stage) > moment.index(moment.run.gate_to)), None)
    hangs = any(item.has(Tag.CONDITION) and item.text != "after" for item in moment.message.items)
    if not moment.go or not later or hangs:
        return None
    return ask("chained", moment, "ADVANCE", then=later)


def lift_hold(moment: Moment) -> Answer:
    """ "resume" on hold: back to waiting, or start now? Elsewhere at a gate nothing was paused."""
    if not any(act.tag is Tag.RESUME for act in moment.go):
        return None
    starts = any(act.tag not in {Tag.RESUME} | BARE_TAGS for act in moment.go)
    if moment.run.phase is Phase.BLOCKED or (moment.run.phase is Phase.HELD and starts):  # "unhold and go"
        return None
    return ask("lift_hold_or_start" if moment.run.phase is Phase.HELD else "unclear", moment, "ADVANCE")


def resume_what_falls_short(moment: Moment) -> Answer:
    """The evidence falls short, and the stage is to make up for it."""
    if moment.run.phase is not Phase.BLOCKED or not any(act.tag in (Tag.RESUME, Tag.RETRY) for act in moment.go):
        return None
    plain = all(act.tag is Tag.RESUME and act.stage in (None, moment.run.stage) for act in moment.go)
    why = moment.objection()
    if not plain or why or moment.message.settings:
        return ask(why or "discards_work", moment, "RETRY")
    return Intent(kind=Kind.RETRY, rule="", run=moment.run.id, stage=moment.run.stage, more={"mode": "resume"})


def something_speaks_against(moment: Moment) -> Answer:
    """A question, hedge, condition, time, reported speech, joke or unknown word beside the order."""
    why = moment.objection()
    if not moment.go or why is None:
        return None
    if why == "timed" and moment.message.has(Tag.LATER) and not moment.message.has(Tag.TIME):
        return hold(moment)
    return ask(why, moment, "ADVANCE", **timing(moment, why))


def waiver(moment: Moment) -> Answer:
    """ "waive because ...": whatever the reason says, it is a reason. What is asked back shows it before it counts."""
    if moment.run.phase is not Phase.BLOCKED:
        return None
    firsts = [
        next((item for item in clause.items if not item.has(*_BEFORE_WAIVE)), None) for clause in moment.message.clauses
    ]
    if not any(first is not None and first.text.startswith("waive") for first in firsts):
        return None
    return ask("waiver_needed", moment, "ADVANCE", waives=moment.run.evidence)


_BEFORE_WAIVE = (Tag.POLITE, Tag.SUBJECT, Tag.PERMIT, Tag.ADDRESS, Tag.FILLER, Tag.BOT, Tag.MARK, Tag.AND, Tag.HEDGE)


def evidence_falls_short(moment: Moment) -> Answer:
    """The gate's evidence is contradicted: only a waiver passes it."""
    if moment.run.phase is not Phase.BLOCKED or not (moment.go or moment.message.has(Tag.WAIVE)):
        return None
    if moment.objection("unclear", "complaint", "timed", "idiom") is not None:
        return None
    return ask("waiver_needed", moment, "ADVANCE", waives=moment.run.evidence)


def hold_of_somebody_else(moment: Moment) -> Answer:
    """Only who put it on hold lifts it in passing."""
    run = moment.run
    if moment.go and run.phase is Phase.HELD and run.held_by not in (None, moment.context.speaker):
        return ask("held_by_other", moment, "ADVANCE")
    return None


def confirms_nothing(moment: Moment) -> Answer:
    """ "confirmed" answers no question that a gate asks."""
    only = bool(moment.go) and all(act.tag is Tag.CONFIRM for act in moment.go)
    return ask("filler", moment, "ADVANCE") if only or _only_seen(moment) else None


def _only_seen(moment: Moment) -> bool:
    """ "yes, i saw it" and "yes it is" may answer a colleague: something is told, without a verdict on it."""
    message = moment.message
    bare = bool(moment.go) and all(act.tag is Tag.YES for act in moment.go)
    return (
        bare
        and message.has(Tag.REVIEW, Tag.SUBJECT, Tag.AUX)
        and not message.named(Tag.GOOD, Tag.PRAISE, Tag.DONE, Tag.BOUND)
    )


def may_answer_others(moment: Moment) -> Answer:
    """A bare approval counts only right after the card; a bare order only while nobody else is talking."""
    context = moment.context
    if not moment.go or context.card_is_last:
        return None
    bare = all(act.tag in BARE_TAGS for act in moment.go)
    chatty = context.place is Place.THREAD and moment.run.phase is not Phase.HELD and not context.mentioned
    chatty = chatty and not context.quiet
    names_it = moment.message.named(Tag.STAGE, Tag.RUN)
    return ask("target_unclear", moment, "ADVANCE") if bare or (chatty and not names_it) else None


def pass_the_gate(moment: Moment) -> Answer:
    """A clear order: every word is understood and none speaks against it."""
    if not moment.go:
        return None
    run = moment.run
    strange = moment.setting_of_another_stage(*moment.coming)
    if strange is not None:
        return ask("unknown_param", moment, "ADVANCE", param=strange.name)
    if moment.message.named(Tag.SUITE):  # said too early to be kept
        return ask("not_ready", moment, "ADVANCE")
    return Intent(
        kind=Kind.ADVANCE,
        rule="",
        run=run.id,
        from_stage=run.stage,
        to=run.gate_to,
        set=moment.values,
        claim=moment.claim,
    )


def remark(moment: Moment) -> Answer:
    """What is no order, but may mean one: a claim, a filler, a hurrah, a complaint, a thought."""
    message = moment.message
    strange = message.named(Tag.UNKNOWN) or message.has(Tag.TIME, Tag.SUBJECT)
    about_it = message.named(Tag.STAGE, Tag.NOUN, Tag.METRIC) and not message.named(Tag.PARAM)
    about_it = about_it or (message.has(Tag.REVIEW, Tag.AUX) and not message.has(Tag.PRAISE))
    if message.has(Tag.BAD, Tag.NAN) and about_it and (not strange or _blames(moment)):
        return hold(moment)
    if not strange and message.asked and message.has(Tag.IDIOM, Tag.HYPE):
        return ask("question", moment, "ADVANCE")
    vague = next((item for item in message.items if item.has(Tag.PARAM)), None)
    few = not strange or len(message.words) <= 3
    if vague is not None and not message.settings and len(message.words) > 1 and few and not message.asked:
        return ask("no_value", moment, "OVERRIDE", param=getattr(vague.value, "name", vague.text))
    if strange or message.asked:
        return None
    if any(item.has(Tag.HYPE) for item in message.words):
        return ask("hype", moment, "ADVANCE")
    if message.has(Tag.IDIOM) or message.find(Tag.FRESH):
        return ask("idiom", moment, "ADVANCE")
    if message.claims:
        return ask("claim_without_order", moment, "ADVANCE")
    if message.only(*_FACTS) and message.named(Tag.NUMBER) and message.has(Tag.BULK, Tag.BOTH):
        return ask("claim_without_order", moment, "ADVANCE")  # "all 9000 samples are there, exit 0"
    if message.has(Tag.WHICH, Tag.SAME, Tag.AGAIN) and len(message.words) <= 4:
        return ask("unclear_reference", moment, "ADVANCE")
    if message.only(Tag.STAGE, Tag.TO, Tag.POLITE, Tag.NOW, Tag.GLUE, Tag.FILL) and message.named(Tag.STAGE):
        return ask("unclear", moment, "ADVANCE")
    if message.only(
        Tag.FILLER, Tag.GOOD, Tag.POLITE, Tag.GLUE, Tag.FILL, Tag.NOUN, Tag.BOUND, Tag.REVIEW, Tag.CHECK, Tag.HEDGE
    ) and _approving(moment):
        return ask("filler", moment, "ADVANCE") if moment.context.card_is_last else ignore("nothing_said")
    return None


def _blames(moment: Moment) -> bool:
    """ "wrong system prompt used": a complaint about the work, though not every word of it is known."""
    message = moment.message
    unknown = sum(item.has(Tag.UNKNOWN) for item in message.words)
    theirs = message.has(Tag.TIME, Tag.SUBJECT, Tag.MY, Tag.PERSON, Tag.WHICH) or message.asked
    return unknown <= _VAGUE and not theirs and message.named(Tag.NOUN, Tag.METRIC, Tag.STAGE)


_VAGUE = 2
_FACTS = (
    Tag.BULK, Tag.BOTH, Tag.NUMBER, Tag.NOUN, Tag.AUX, Tag.FILL, Tag.ARTICLE, Tag.GLUE, Tag.IN, Tag.POLITE, Tag.AND,
    Tag.FILLER, Tag.NOW,
)  # fmt: skip


def _approving(moment: Moment) -> bool:
    message = moment.message
    thanks = any(item.text.startswith(("th", "ty")) and item.has(Tag.POLITE) for item in message.words)
    return message.named(Tag.FILLER, Tag.GOOD) and not thanks


def one_or_two_letters(moment: Moment) -> Answer:
    """ "ho": go, no or hold?"""
    words = moment.message.words
    short = len(words) == 1 and words[0].has(Tag.UNKNOWN) and len(words[0].text) <= 2
    return ask("too_short", moment) if short else None


RULES: tuple[Rule, ...] = (
    asking.question_mark_alone,
    asking.nothing_said,
    emoji_alone,
    asking.to_somebody_else,
    stay.waits_and_asks,
    asking.question_about_the_run,
    waiver,
    stay.asked_whether_to_wait,
    stay.first_something_else,
    skips_a_stage,
    stay.safe_line_wins,
    stay.for_and_against,
    leaning.asked_to_wait,
    stay.told_to_stay,
    stay.stop_or_later,
    stay.cancel_at_gate,
    values.bad_value,
    asking.extension,
    resume_what_falls_short,
    bench.bench_order,
    asked_whether_to_go,
    stage_that_does_not_wait,
    bench.bench_before_its_time,
    chained,
    lift_hold,
    nearly_an_order,
    stray.stray_order_word,
    evidence_falls_short,
    something_speaks_against,
    hold_of_somebody_else,
    confirms_nothing,
    may_answer_others,
    pass_the_gate,
    values.set_a_value,
    leaning.in_favour,
    leaning.approval_with_a_condition,
    asking.view_or_metric,
    remark,
    one_or_two_letters,
    asking.chatter,
)
