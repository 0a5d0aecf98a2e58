"""Something runs, or might: stop it, hold the next gate, or wait for its end."""

from __future__ import annotations

from bot.core.reading.acts import BARE_TAGS
from bot.core.reading.context import Phase
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.rules import asking
from bot.core.reading.rules.moment import Answer, Moment, Rule, ask, hold, ignore
from bot.core.reading.rules.stray import is_stray
from bot.core.reading.rules.times import timing
from bot.core.reading.tags import Tag

JUST_STARTED_S = 120.0
STARTED_RECENTLY_S = 15 * 60.0
_REDO = (Tag.RETRY, Tag.FRESH)
_SHORT = 5  # a misspelt order word shorter than this cancels nothing


def emoji_alone(moment: Moment) -> Answer:
    """A stop sign holds the next gate; nothing else is said by an emoji while it runs."""
    message = moment.message
    if message.words and not message.only(Tag.ACK):
        return None
    return hold(moment) if any(item.has(Tag.HOLD) for item in message.emoji) else ignore("nothing_said")


def unusual_kill(moment: Moment) -> Answer:
    """^C, kill -9."""
    return ask("unusual_verb", moment, "CANCEL") if moment.message.find(Tag.ODD_KILL) else None


def deletes_too(moment: Moment) -> Answer:
    """ "nuke it": stop it, or delete what it made as well?"""
    if not moment.message.find(Tag.NUKE):
        return None
    return ignore("nothing_said") if is_stray(moment) else ask("delete_data_too", moment, "CANCEL")


def told_to_keep_running(moment: Moment) -> Answer:
    """ "don't kill it", "keep going": no change is asked for."""
    message = moment.message
    spared = message.find(Tag.CANCEL, Tag.STOP, Tag.NUKE, negated=True)
    if spared and not moment.ends and not moment.no_go:
        return ignore("keeps_running")
    if message.has(Tag.KEEP) and not moment.ends and not message.asked:
        return ignore("keeps_running")
    return None


def stop_and_repeat(moment: Moment) -> Answer:
    """A retry of what is alive would kill it; on a host out of reach a second copy could collide."""
    if not any(act.tag in _REDO for act in moment.go):
        return None
    if moment.run.phase is Phase.UNKNOWN:
        return ask("cannot_verify", moment, "RETRY")
    return ask("question" if moment.message.asked else "discards_work", moment, "CANCEL+RETRY")


def stop_it(moment: Moment) -> Answer:
    """A clear order to stop; the service asks once more before it sends anything."""
    ends = moment.ends
    if not ends:
        return None
    if is_stray(moment):
        return ignore("nothing_said")
    run, message = moment.run, moment.message
    if message.has(Tag.BULK, Tag.BOTH):
        return ask("bulk", moment, "CANCEL")
    why = moment.objection("complaint")
    if why is None and any(act.guessed and len(act.text) < _SHORT for act in ends):
        why = "too_short"
    if why is None and (moment.go or message.find(Tag.HOLD)):
        why = "mixed_polarity"
    if why is None and message.settings:
        why = "unclear"
    if why is not None:
        return ask(why, moment, "CANCEL", **timing(moment, why))
    if any(act.stage not in (None, run.stage) for act in ends):
        return ask("wrong_stage", moment, "CANCEL")
    if run.phase is Phase.UNKNOWN:
        return ask("cannot_reach", moment, "CANCEL")
    if run.phase is Phase.CHECKING:
        return ask("nothing_running", moment, "CANCEL")
    return Intent(kind=Kind.CANCEL, rule="", run=run.id, stage=run.stage)


def asked_whether_to_wait(moment: Moment) -> Answer:
    """ "should we pause?"."""
    message = moment.message
    return ask("question", moment, "HOLD") if message.find(Tag.HOLD) and message.has(Tag.MODAL) else None


def hold_the_next_gate(moment: Moment) -> Answer:
    """ "hold", "don't continue": armed rules are taken back, the next gate stays shut."""
    message = moment.message
    if moment.go and not moment.no_go and not message.find(Tag.HOLD):
        return None
    if message.find(Tag.HOLD) and moment.go and not message.has(Tag.BEFORE):
        return ask("mixed_polarity", moment)
    strange = message.named(Tag.UNKNOWN)
    asked_first = message.has(Tag.BEFORE) and message.named(Tag.STAGE) and not message.asked  # "ask before training"
    if moment.no_go or message.find(Tag.HOLD) or asked_first:
        return hold(moment)
    loose = any(clause.loose_not or clause.not_done for clause in message.clauses)
    negative = loose or message.has(Tag.NO)
    return hold(moment) if negative and not strange and not message.asked else None


def possible_mistake(moment: Moment) -> Answer:
    """ "oops" right after the speaker's own order; with a "wait" in it, waiting is what was said."""
    run, message = moment.run, moment.message
    if (not message.has(Tag.MISTAKE) and not message.find(Tag.UNDO)) or message.find(Tag.HOLD):
        return None
    own = run.started_by == moment.context.speaker and run.started_by is not None
    if own and run.started_ago_s is not None and run.started_ago_s <= JUST_STARTED_S:
        taken_back = run.phase is Phase.STARTING and not message.named(Tag.UNKNOWN)  # it can be, and be said again
        return hold(moment) if taken_back else ask("possible_mistake", moment, "CANCEL")
    return ask("question", moment, "CANCEL") if message.find(Tag.UNDO) else ignore("nothing_said")


def too_late_to_set(moment: Moment) -> Answer:
    """A value for what has started already, or for a stage that has no open gate yet."""
    problem = moment.problem
    if not moment.message.settings or moment.message.named(Tag.METRIC, Tag.GOOD, Tag.PRAISE):
        return None
    if problem is not None and problem.problem != "out_of_range":
        return ask(str(problem.problem), moment, "OVERRIDE", param=problem.name)
    why = "out_of_range" if problem else "already_running"
    return ask(why, moment, "OVERRIDE", set=moment.values)


def bench_too_early(moment: Moment) -> Answer:
    """The benchmark needs what is still being made."""
    ordered = any(moment.is_bench(act.stage) and act.tag in (Tag.DO_STAGE, Tag.BEGIN) for act in moment.go)
    return ask("not_ready", moment, "BENCH") if ordered and not moment.message.claims else None


def armed_later(moment: Moment) -> Answer:
    """ "continue when it's done": a rule, repeated in plain words and armed by one button."""
    why = moment.objection("mixed_polarity", "unclear")
    if not moment.go or why not in ("conditional", "timed"):
        return None
    return ask(why, moment, "ADVANCE", **timing(moment, why))


def asked_whether_to_go(moment: Moment) -> Answer:
    """ "continue?" while it runs."""
    if moment.go and moment.message.asked and not moment.message.claims:
        return ask("question", moment, "ADVANCE")
    return None


def already_passed(moment: Moment) -> Answer:
    """Somebody was quicker: say who started it and when."""
    run = moment.run
    just = run.started_ago_s is not None and run.started_ago_s <= STARTED_RECENTLY_S
    about_it = any(claim.stage == run.stage and claim.status == "done" for claim in moment.message.claims)
    if not moment.go or not just or moment.message.asked or (about_it and run.phase is not Phase.CHECKING):
        return None
    return ignore("already_advanced", moment)


def claim_or_order_too_early(moment: Moment) -> Answer:
    """An order or a claim of success, while the machine shows that it is not done."""
    run, message = moment.run, moment.message
    done = [claim for claim in message.claims if claim.status == "done"]
    if message.asked or not (moment.go or done):
        return None
    if not moment.go and message.named(Tag.UNKNOWN, Tag.TIME, Tag.SUBJECT):
        return None
    if moment.go and not done and message.has(Tag.WAIVE) and run.phase is not Phase.UNKNOWN:
        return ask("waiver_needed", moment, "ADVANCE")
    if all(act.tag in BARE_TAGS for act in moment.go) and not done:
        return ignore("nothing_said") if not moment.context.card_is_last else ask("not_waiting", moment)
    if not done and is_stray(moment):
        return ignore("nothing_said")
    if run.phase is Phase.UNKNOWN:
        return ask("cannot_verify", moment)
    if run.phase in (Phase.SETTLING, Phase.CHECKING):
        return ask("not_settled", moment)
    if any(claim.stage not in (None, run.stage) for claim in done):
        return ask("wrong_stage", moment)
    if done:
        found = {"evidence": f"{run.done}/{run.total}"} if run.total else {}
        return ask("claim_contradicted", moment, **found)
    return ask("not_waiting", moment)


def complaint(moment: Moment) -> Answer:
    """ "loss is nan": worth stopping, but nobody ordered it."""
    message = moment.message
    if message.asked or not message.has(Tag.BAD, Tag.NAN) or message.named(Tag.UNKNOWN):
        return None
    return ask("complaint_without_order", moment, "CANCEL")


RULES: tuple[Rule, ...] = (
    asking.question_mark_alone,
    asking.nothing_said,
    emoji_alone,
    asking.to_somebody_else,
    asking.question_about_the_run,
    unusual_kill,
    deletes_too,
    told_to_keep_running,
    stop_and_repeat,
    stop_it,
    asked_whether_to_wait,
    armed_later,
    asking.extension,
    possible_mistake,
    hold_the_next_gate,
    too_late_to_set,
    asked_whether_to_go,
    bench_too_early,
    already_passed,
    claim_or_order_too_early,
    asking.view_or_metric,
    complaint,
    asking.chatter,
)
