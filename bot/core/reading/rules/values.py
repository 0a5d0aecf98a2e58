"""Values without an order, and values that cannot be taken."""

from __future__ import annotations

from bot.core.reading.intent import Intent, Kind
from bot.core.reading.rules.moment import Answer, Moment, ask, out_of_range
from bot.core.reading.tags import Tag


def bad_value(moment: Moment) -> Answer:
    """A value out of bounds, of no known parameter, or missing."""
    problem = moment.problem
    if problem is None:
        return None
    proposed = "ADVANCE" if moment.go else "OVERRIDE"
    if problem.problem == "out_of_range":
        return out_of_range(problem, moment, proposed)
    return ask(str(problem.problem), moment, proposed, param=problem.name)


def set_a_value(moment: Moment) -> Answer:
    """Values without an order: they are set for the next stage, which still waits."""
    message, run = moment.message, moment.run
    if not message.settings or moment.go:
        return None
    specs = [setting.spec for setting in moment.settings if setting.spec is not None]
    stages = {spec.stage for spec in specs} - {None}
    if any(moment.index(stage) <= moment.index(run.stage) for stage in stages):
        return ask("already_running", moment, "OVERRIDE", set=moment.values)
    told = message.named(Tag.METRIC, Tag.GOOD, Tag.BAD, Tag.NAN, Tag.REVIEW) or message.claims
    why = moment.objection() or ("unclear" if told else None)
    if why is None and (message.acts or moment.setting_of_another_stage(*moment.coming) is not None):
        why = "unclear"
    if why is not None:
        return ask(why, moment, "OVERRIDE", set=moment.values)
    stage = next(iter(stages), run.gate_to) if len(stages) <= 1 else run.gate_to
    return Intent(kind=Kind.OVERRIDE, rule="", run=run.id, stage=stage, set=moment.values)
