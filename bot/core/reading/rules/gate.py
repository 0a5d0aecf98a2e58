"""A gate is open: pass it, change a value, keep it shut, or ask."""

from __future__ import annotations

from bot.core.reading.clauses import Clause
from bot.core.reading.context import Phase
from bot.core.reading.intent import Claim, Intent, Kind
from bot.core.reading.lexicon import Tag
from bot.core.reading.message import asks
from bot.core.reading.rules import asking
from bot.core.reading.rules.moment import Answer, Moment, Rule, ask, hold, ignore
from bot.core.reading.rules.times import timing

_BARE = (Tag.YES, Tag.CONFIRM)


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


def asked_whether_to_wait(moment: Moment) -> Answer:
    """ "should we hold?" is a question, other than "wait?"."""
    message = moment.message
    if message.find(Tag.HOLD, Tag.STOP) and any(asks(clause) for clause in message.clauses) and not moment.go:
        return ask("question", moment, "HOLD")
    return None


def first_something_else(moment: Moment) -> Answer:
    """Approval with a pre-condition: "lgtm but check the curve first", "before we continue"."""
    message = moment.message
    if message.asked:
        return None
    before = message.has(Tag.BEFORE) and not message.has(Tag.WITHOUT)
    checks = message.has(Tag.FIRST) and message.has(Tag.REVIEW, Tag.EXTEND, Tag.RETRY)
    return hold(moment) if before or checks else None


def safe_line_wins(moment: Moment) -> Answer:
    """Of two lines, one that goes and one that waits, the safe one wins; so does what follows a "but"."""
    if not moment.go or not (moment.stays or moment.message.find(Tag.STOP)):
        return None
    clauses = moment.message.clauses
    waits = [clause for clause in clauses if _waits(clause)]
    goes = {clause.line for clause in clauses if any(act in moment.go for act in clause.acts)}
    apart = any(clause.line not in goes for clause in waits)
    after_but = any(clause.has(Tag.BUT) for clause in waits)
    yes_only = all(act.tag in _BARE for act in moment.go) and bool(moment.no_go)
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


def skips_a_stage(moment: Moment) -> Answer:
    """ "skip training", "continue to benchmark", "no bench needed"."""
    message = moment.message
    named = [stage for clause in message.clauses for stage in clause.stages()]
    target = next((act.stage for act in moment.go if act.stage), None)
    if message.find(Tag.SKIP) and named:
        jumps = any(act.text.endswith("to") for act in message.find(Tag.SKIP))
        return ask("skips_stage", moment, skips=moment.run.gate_to if jumps else named[0])
    if message.has(Tag.NO) and named and not message.asked:
        return ask("skips_stage", moment, skips=named[0])
    ahead = target is not None and moment.index(target) > moment.index(moment.run.gate_to) >= 0
    continues = any(act.tag is Tag.PROCEED and act.stage == target for act in moment.go)
    if ahead and continues and not message.asked:
        return ask("skips_stage", moment, skips=moment.run.gate_to)
    return None


def told_to_stay(moment: Moment) -> Answer:
    """ "don't continue", "not yet", "no": the gate stays shut."""
    message = moment.message
    if moment.go or not moment.stays:
        return None
    strange = sum(item.has(Tag.UNKNOWN) for item in message.words)
    plain = bool(moment.no_go) or any(_leads(clause) for clause in message.clauses) or strange == 0
    return hold(moment) if plain else None


def _leads(clause: Clause) -> bool:
    """Whether a clause opens with the word that holds."""
    first = next((item for item in clause.items if not item.has(Tag.POLITE, Tag.FILLER, Tag.BOT, Tag.AND, Tag.GLUE)), None)
    return first is not None and first.has(Tag.HOLD, Tag.STOP, Tag.NOT, Tag.NO)


def stop_or_later(moment: Moment) -> Answer:
    """Nothing runs at a gate, so "stop" means: don't start. "later" and "tomorrow" mean the same."""
    message = moment.message
    if moment.go or message.asked:
        return None
    stops = [act for act in message.find(Tag.STOP) if not act.negated]
    strange = message.named(Tag.UNKNOWN)
    if stops and (not strange or any(_leads(clause) for clause in message.clauses)):
        return hold(moment)
    postponed = message.has(Tag.LATER) or (message.has(Tag.TIME) and not message.has(Tag.SUBJECT))
    return hold(moment) if postponed and not strange and not message.settings else None


def cancel_at_gate(moment: Moment) -> Answer:
    """Nothing runs that could be cancelled: cancel the run, or only not start?"""
    if not moment.ends and not moment.message.find(Tag.UNDO):
        return None
    if _is_stray(moment):
        return ignore("nothing_said")
    return ask("question" if moment.message.asked else "nothing_running", moment, "CANCEL")


def bad_value(moment: Moment) -> Answer:
    """A value out of bounds, of no known parameter, or missing."""
    problem = moment.problem
    if problem is None:
        return None
    proposed = "ADVANCE" if moment.go else "OVERRIDE"
    if problem.problem == "out_of_range":
        return ask("out_of_range", moment, proposed, set=moment.values)
    return ask(str(problem.problem), moment, proposed, param=problem.name)


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
    if any(moment.index(stage) < moment.index(_first_claimable(moment)) for stage in claimed):
        return ask("wrong_stage", moment)
    repeats = message.find(Tag.RETRY, Tag.FRESH)
    target = next((act.stage for act in moment.go if act.stage), None)
    if target is not None and moment.index(target) <= moment.index(run.stage):
        return ask("stage_already_done", moment)
    return ask("stage_already_done", moment) if repeats else None


def _first_claimable(moment: Moment) -> str | None:
    return moment.run.stage


def bench_before_its_time(moment: Moment) -> Answer:
    """The benchmark is ordered while an earlier stage waits."""
    run = moment.run
    ordered = [act for act in moment.go if moment.is_bench(act.stage)]
    if not ordered or moment.is_bench(run.gate_to) or len(moment.go) > len(ordered):
        return None
    return ask("not_ready", moment, "BENCH")


def chained(moment: Moment) -> Answer:
    """ "continue & bench right after": one order passes one gate."""
    named = [stage for clause in moment.message.clauses for stage in clause.stages()]
    later = next((stage for stage in named if moment.index(stage) > moment.index(moment.run.gate_to)), None)
    return ask("chained", moment, "ADVANCE", then=later) if moment.go and later else None


def lift_hold(moment: Moment) -> Answer:
    """ "resume" on hold: back to waiting, or start now? Elsewhere at a gate nothing was paused."""
    if not any(act.tag is Tag.RESUME for act in moment.go):
        return None
    if moment.run.phase is Phase.BLOCKED:
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


def bench_order(moment: Moment) -> Answer:
    """The benchmark is next and named as such."""
    return bench(moment) if moment.is_bench(moment.run.gate_to) else None


def bench(moment: Moment) -> Answer:
    """An order to run the benchmark, with its suites and values; also after all stages are done."""
    message = moment.message
    starts = [act for act in moment.go if act.tag in (Tag.DO_STAGE, Tag.BEGIN, Tag.RETRY)]
    ordered = [act for act in starts if moment.is_bench(act.stage)]
    if not ordered:
        return None
    why = moment.objection()
    if why is not None:
        return ask(why, moment, "BENCH", **timing(moment, why))
    if moment.run.phase is Phase.BLOCKED:
        return None
    suites = list(dict.fromkeys(str(item.value) for item in message.items if item.has(Tag.SUITE)))
    return Intent(
        kind=Kind.BENCH,
        rule="",
        run=moment.run.id,
        set=moment.values,
        claim=_claim(moment),
        more={"suite": suites} if suites else {},
    )


def stray_order_word(moment: Moment) -> Answer:
    """ "cancel my meeting", "the talk will continue": an order word in talk about something else."""
    meant = moment.message.has(Tag.CONDITION, Tag.REPORT, Tag.HEDGE, Tag.TIME)
    return ignore("nothing_said") if moment.go and not meant and _is_stray(moment) else None


def _is_stray(moment: Moment) -> bool:
    """Whether the order words are about something the bot doesn't know, and nothing in it is about the run."""
    message = moment.message
    if message.named(Tag.STAGE, Tag.RUN, Tag.PARAM, Tag.METRIC) or message.settings:
        return False
    order_clauses = [clause for clause in message.clauses if clause.acts]
    strange = [sum(item.has(Tag.UNKNOWN) for item in clause.items) for clause in order_clauses]
    known = [len(clause.items) - count for clause, count in zip(order_clauses, strange, strict=True)]
    his = any(clause.has(Tag.MY) and count for clause, count in zip(order_clauses, strange, strict=True))
    led = any(clause.acts[0].at == 0 for clause in order_clauses)
    return his or (any(strange) and not led) or any(s >= k for s, k in zip(strange, known, strict=True))


def something_speaks_against(moment: Moment) -> Answer:
    """A question, hedge, condition, time, reported speech, joke or unknown word beside the order."""
    why = moment.objection()
    if not moment.go or why is None:
        return None
    if why == "timed" and moment.message.has(Tag.LATER) and not moment.message.has(Tag.TIME):
        return hold(moment)
    return ask(why, moment, "ADVANCE", **timing(moment, why))


def evidence_falls_short(moment: Moment) -> Answer:
    """The gate's evidence is contradicted: only a waiver passes it."""
    if moment.run.phase is not Phase.BLOCKED or not (moment.go or moment.message.has(Tag.WAIVE)):
        return None
    if moment.objection("unclear", "complaint", "timed") is not None:
        return None
    return ask("waiver_needed", moment, "ADVANCE", waives=moment.run.evidence)


def hold_of_somebody_else(moment: Moment) -> Answer:
    """Only who put it on hold lifts it in passing."""
    run = moment.run
    if moment.go and run.phase is Phase.HELD and run.held_by not in (None, moment.context.speaker):
        return ask("held_by_other", moment, "ADVANCE")
    return None


def may_answer_others(moment: Moment) -> Answer:
    """A bare approval counts only right after the card; a bare order only while nobody else is talking."""
    context = moment.context
    if not moment.go or context.card_is_last:
        return None
    bare = all(act.tag in _BARE for act in moment.go)
    chatty = context.place.value == "thread" and moment.run.phase is not Phase.HELD and not context.mentioned
    names_it = moment.message.named(Tag.STAGE, Tag.RUN)
    return ask("target_unclear", moment, "ADVANCE") if bare or (chatty and not names_it) else None


def pass_the_gate(moment: Moment) -> Answer:
    """A clear order: every word is understood and none speaks against it."""
    if not moment.go:
        return None
    run = moment.run
    return Intent(
        kind=Kind.ADVANCE,
        rule="",
        run=run.id,
        from_stage=run.stage,
        to=run.gate_to,
        set=moment.values,
        claim=_claim(moment),
    )


def _claim(moment: Moment) -> Claim | None:
    claims = moment.message.claims
    if not claims:
        return None
    return Claim(stage=claims[0].stage or moment.run.stage, status=claims[0].status)


def set_a_value(moment: Moment) -> Answer:
    """Values without an order: they are set for the next stage, which still waits."""
    message, run = moment.message, moment.run
    if not message.settings or moment.go:
        return None
    specs = [setting.spec for setting in message.settings if setting.spec is not None]
    stages = {spec.stage for spec in specs} - {None}
    if any(moment.index(stage) <= moment.index(run.stage) for stage in stages):
        return ask("already_running", moment, "OVERRIDE", set=moment.values)
    why = moment.objection()
    if why is not None or message.acts:
        return ask(why or "unclear", moment, "OVERRIDE", set=moment.values)
    stage = next(iter(stages), run.gate_to) if len(stages) <= 1 else run.gate_to
    return Intent(kind=Kind.OVERRIDE, rule="", run=run.id, stage=stage, set=moment.values)


def remark(moment: Moment) -> Answer:
    """What is no order, but may mean one: a claim, a filler, a hurrah, a complaint, a thought."""
    message = moment.message
    strange = message.named(Tag.UNKNOWN) or message.has(Tag.TIME, Tag.SUBJECT)
    if message.has(Tag.BAD, Tag.NAN) and message.named(Tag.STAGE, Tag.NOUN, Tag.METRIC) and not strange:
        return hold(moment)
    if strange or message.asked:
        return None
    if message.has(Tag.HYPE):
        return ask("hype", moment, "ADVANCE")
    if message.has(Tag.IDIOM) or message.find(Tag.FRESH):
        return ask("idiom", moment, "ADVANCE")
    if message.claims:
        return ask("claim_without_order", moment, "ADVANCE")
    if message.has(Tag.WHICH, Tag.SAME, Tag.AGAIN) and len(message.words) <= 4:
        return ask("unclear_reference", moment, "ADVANCE")
    if message.only(Tag.STAGE, Tag.TO, Tag.POLITE, Tag.NOW, Tag.GLUE) and message.named(Tag.STAGE):
        return ask("unclear", moment, "ADVANCE")
    if message.only(Tag.FILLER, Tag.GOOD, Tag.POLITE, Tag.GLUE, Tag.NOUN, Tag.BOUND, Tag.REVIEW) and _approving(moment):
        return ask("filler", moment, "ADVANCE") if moment.context.card_is_last else ignore("nothing_said")
    return None


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
    asking.question_about_the_run,
    asked_whether_to_wait,
    first_something_else,
    skips_a_stage,
    safe_line_wins,
    for_and_against,
    told_to_stay,
    stop_or_later,
    cancel_at_gate,
    bad_value,
    asking.extension,
    resume_what_falls_short,
    bench_order,
    asked_whether_to_go,
    stage_that_does_not_wait,
    bench_before_its_time,
    chained,
    lift_hold,
    stray_order_word,
    evidence_falls_short,
    something_speaks_against,
    hold_of_somebody_else,
    may_answer_others,
    pass_the_gate,
    set_a_value,
    asking.view_or_metric,
    remark,
    one_or_two_letters,
    asking.chatter,
)
