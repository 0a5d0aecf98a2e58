"""Who may do what."""

from bot.core import events
from bot.core.errors import WrongState
from bot.core.machine.flow import next_gate
from bot.core.model import Run
from bot.core.pipeline import GateSpec, Pipeline
from bot.core.summary.words import person
from bot.service.desk import Desk

_PASSING = (events.Advance, events.Arm, events.Bench, events.Override, events.Extend, events.Adopt)


def gate_rules(order: events.Ordered, run: Run, pipeline: Pipeline) -> GateSpec | None:
    """The rules of the gate that this order passes, or changes what is behind it. None for all other orders."""
    if isinstance(order, events.Retry) and order.set:
        return pipeline.gated(run.at).gate
    if not isinstance(order, _PASSING):
        return None
    spec = pipeline.measuring if isinstance(order, events.Bench) else None
    if spec is not None and not (run.gate is not None and pipeline.leads_to(run.gate.before, spec.id)):
        return spec.gate
    try:
        return next_gate(run, pipeline).gate
    except WrongState:
        return None


def may(desk: Desk, order: events.Ordered, run: Run) -> bool:
    """Whether its speaker may give this order here. Waivers are for admins, if there are any. Raises CommandError."""
    pipeline = desk.pipeline(run)
    role = desk.role_of(order.by, pipeline)
    if role == "viewer":
        return False
    if isinstance(order, events.Waive):
        return role == "admin" or not desk.roles(pipeline).admins
    rules = gate_rules(order, run, pipeline)
    if rules is None or role == "admin":
        return True
    return role in rules.roles and (not rules.people or desk.is_in(order.by, rules.people))


def who_may(desk: Desk, run: Run | None = None, order: events.Ordered | None = None) -> str:
    """The people who may, as mentions."""
    pipeline = desk.pipeline(run) if run else None
    roles = desk.roles(pipeline)
    rules = gate_rules(order, run, pipeline) if run and order and pipeline else None
    wanted: tuple[str, ...] = rules.roles if rules else ("operator", "admin")
    if isinstance(order, events.Waive) and roles.admins:
        wanted = ("admin",)
    operators = rules.people if rules and rules.people else roles.operators
    names = [*(operators if "operator" in wanted else []), *roles.admins]
    return ", ".join(person(name) for name in dict.fromkeys(names)) or "an operator"
