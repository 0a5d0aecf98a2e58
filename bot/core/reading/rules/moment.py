"""What a rule sees: a message, the run it is about, and the context; and how it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bot.core.reading.acts import END_TAGS, GO_TAGS, Act
from bot.core.reading.clauses import Clause
from bot.core.reading.context import Context, RunView
from bot.core.reading.intent import Claim, Intent, Kind
from bot.core.reading.items import Item
from bot.core.reading.message import Message
from bot.core.reading.objections import objections
from bot.core.reading.settings import Setting, parse_number, rebind
from bot.core.reading.tags import Tag
from bot.core.reading.why import REASONS


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One message about one run."""

    message: Message
    run: RunView
    context: Context

    @property
    def go(self) -> list[Act]:
        """The orders to go on, start or repeat, that are not negated."""
        return [act for act in self.message.acts if act.tag in GO_TAGS and not act.negated]

    @property
    def no_go(self) -> list[Act]:
        """The same orders, negated."""
        return [act for act in self.message.acts if act.tag in GO_TAGS and act.negated]

    @property
    def ends(self) -> list[Act]:
        """Orders to stop or cancel, not negated."""
        return [act for act in self.message.acts if act.tag in END_TAGS and not act.negated]

    @property
    def stays(self) -> bool:
        """Whether something in it says: not now. A negated hold ("don't wait") is not one."""
        message = self.message
        loose = any(clause.loose_not or clause.not_done for clause in message.clauses)
        return bool(self.no_go or message.find(Tag.HOLD)) or loose or message.has(Tag.NO)

    def index(self, stage: str | None) -> int:
        """The place of a stage in the run's order; -1 when it isn't one."""
        return next((at for at, view in enumerate(self.run.stages) if view.id == stage), -1)

    def is_bench(self, stage: str | None) -> bool:
        """Whether this is the stage that measures."""
        return any(view.id == stage and view.role == "bench" for view in self.run.stages)

    @property
    def is_benched(self) -> bool:
        """Whether the open gate comes after the benchmark: it can be made once more."""
        run = self.run
        return run.at_gate and any(self.is_bench(view.id) for view in run.stages[: self.index(run.stage) + 1])

    @property
    def coming(self) -> list[str]:
        """The stages that passing the open gate starts, up to the one it is named after."""
        first, last = self.index(self.run.stage), self.index(self.run.gate_to)
        return [view.id for at, view in enumerate(self.run.stages) if first < at <= last]

    @property
    def claim(self) -> Claim | None:
        """What was said to be so, about the run's stage unless another is named."""
        claims = self.message.claims
        return Claim(stage=claims[0].stage or self.run.stage, status=claims[0].status) if claims else None

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """The values asked for, by this run's own parameters."""
        stages = self.coming if self.run.at_gate else [view.id for view in self.run.stages]
        return tuple(rebind(setting, self.run.params, stages) for setting in self.message.settings)

    @property
    def values(self) -> dict[str, Any]:
        """The values asked for, by parameter name."""
        return {setting.name: setting.value for setting in self.settings if setting.value is not None}

    @property
    def problem(self) -> Setting | None:
        """The first value that cannot be taken as it stands."""
        return next((setting for setting in self.settings if setting.problem), None)

    def setting_of_another_stage(self, *stages: str | None) -> Setting | None:
        """The first value that belongs to none of these stages."""
        for setting in self.settings:
            if setting.spec is not None and setting.spec.stage not in (None, *stages):
                return setting
        return None

    def objection(self, *passed: str) -> str | None:
        """The first thing that keeps an order from being carried out, apart from those passed over."""
        codes = [*self._objections, *(["unclear"] if self._strange_figures() else [])]
        return next((code for code in codes if code not in passed), None)

    @cached_property
    def _objections(self) -> tuple[str, ...]:
        return objections(self.message)

    def _strange_figures(self) -> bool:
        """ "500 samples, continue": a figure beside an order that the machine doesn't show, so it may be a wish."""
        clauses = self.message.whole.clauses
        return bool(self.message.acts) and any(
            item.has(Tag.NUMBER) and not self._shown(item) for clause in clauses for item in _stated(clause)
        )

    def _shown(self, item: Item) -> bool:
        """Whether the machine shows this figure; at a gate, a part of the whole counts as another figure."""
        run = self.run
        percent = item.text.endswith("%")
        number = parse_number(item.text.rstrip("%"))
        reached = run.done == run.total or not run.at_gate
        figures = (run.percent if reached else None,) if percent else (run.total, run.done if reached else None)
        return number is not None and number in figures


def _stated(clause: Clause) -> Iterable[Item]:
    """The items of an aside to an order, unless it tells what was looked at ("checked 20 samples")."""
    return () if clause.acts or clause.tells_what_was_read else clause.rest()


Answer = Intent | None
Rule = Callable[[Moment], Answer]


def decide(rules: Iterable[Rule], moment: Moment) -> Intent | None:
    """The answer of the first rule that has one, with that rule's name on it."""
    for rule in rules:
        answer = rule(moment)
        if answer is not None:
            return answer if answer.rule else replace(answer, rule=rule.__name__)
    return None


def ask(why: str, moment: Moment, proposed: str | None = None, **more: Any) -> Intent:
    """Change nothing; say what was understood, and offer `proposed`."""
    assert why in REASONS, why
    values = more.pop("set", {})
    when = more.pop("when", None)
    return Intent(
        kind=Kind.ASK, rule="", run=moment.run.id, why=why, proposed=proposed, set=values, when=when, more=more
    )


def out_of_range(problem: Setting, moment: Moment, proposed: str) -> Intent:
    """A value outside its bounds is shown as it was read; one that is no value at all is only named."""
    if problem.value is None:
        return ask("out_of_range", moment, proposed, param=problem.name)
    return ask("out_of_range", moment, proposed, set=moment.values)


def hold(moment: Moment, **more: Any) -> Intent:
    """Keep the run where it is."""
    return Intent(kind=Kind.HOLD, rule="", run=moment.run.id, more=more)


def ignore(why: str, moment: Moment | None = None) -> Intent:
    """Nothing to do; `moment` only where the run is worth naming in the answer."""
    assert why in REASONS, why
    return Intent(kind=Kind.IGNORE, rule="", run=moment.run.id if moment else None, why=why)


def show(view: str, moment: Moment, **more: Any) -> Intent:
    """Show something of the run."""
    return Intent(kind=Kind.STATUS, rule="", run=moment.run.id, more={"view": view, **more})
