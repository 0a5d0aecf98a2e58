"""Who may do what."""

from bot.config import Roles
from bot.core import events
from bot.core.model import Run
from bot.core.summary.words import person


def may_pass(role: str, order: events.Ordered, run: Run, has_admins: bool) -> bool:
    """Whether a role may give this order here. Waivers are for admins, where there are any."""
    if role == "viewer":
        return False
    if isinstance(order, events.Waive):
        return role == "admin" or not has_admins
    roles = run.gate.roles if run.gate else ("operator", "admin")
    return role in roles or role == "admin"


def who_may(run: Run | None, order: events.Ordered | None, roles: Roles) -> str:
    """The people who may, as mentions."""
    wanted = run.gate.roles if run and run.gate else ("operator", "admin")
    if isinstance(order, events.Waive) and roles.admins:
        wanted = ("admin",)
    names = [*(roles.operators if "operator" in wanted else []), *roles.admins]
    return ", ".join(person(name) for name in dict.fromkeys(names)) or "an operator"
