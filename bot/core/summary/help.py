"""What can be said now, in this thread, with this run's values."""

from bot.core.cards import Card, escape, say
from bot.core.machine.extension import EXTENDED
from bot.core.model import Phase, Run
from bot.core.pipeline import Param, Pipeline, settings_of
from bot.core.summary import words

_STOPPED = (Phase.FAILED, Phase.BLOCKED, Phase.CANCELLED)


def help_card(run: Run, pipeline: Pipeline) -> Card:
    """One line for each thing that would do something now."""
    title = escape(pipeline.stage(run.at).title)
    said: list[str] = []
    if run.gate is not None and run.phase in (Phase.WAITING, Phase.HELD):
        said += _at_gate(run, pipeline)
    if run.phase is Phase.STARTING:
        said.append("`wait`: take back what is about to start")
    if run.phase is Phase.CHECKING or run.armed is not None:
        said.append("`hold`: take back what starts once it is proven")
    if run.phase in (Phase.RUNNING, Phase.VERIFYING):
        if run.armed is None:
            said.append(f"`continue when it's done`: go on by itself once {title} is proven (asked once more)")
        said.append(f"`cancel`: end {title} (asked once more); what it made is kept")
    if run.phase in _STOPPED:
        said.append("`retry`: go on from what is there")
    if run.phase is Phase.BLOCKED:
        said.append("`waive because …`: accept the evidence as it is, with your name and reason")
    if run.benched(pipeline) and run.phase in (*_STOPPED, Phase.WAITING, Phase.HELD, Phase.DONE):
        said.append("`bench it`, `bench with steps 5`: measure again, results side by side")
    if run.phase in (*_STOPPED, Phase.WAITING, Phase.HELD, Phase.DONE) and _extendable(pipeline):
        said.append("`generate 5k more`: more samples; what exists is kept (its cost is shown first)")
    if run.phase in (*_STOPPED, Phase.WAITING, Phase.HELD):
        said.append(
            "`adopt HOST:/path as STAGE`, `adopt HOST pid 4711 as STAGE`: take what is there already as its work"
        )
    if run.phase in (*_STOPPED, Phase.DONE):
        said.append("`cleanup`: what this run takes up, by size; deleted only after one more confirmation")
    said.append("`status`, `eta`, `logs`, `plan`, `loss`, `disk`, `audit`: look; nothing is changed")
    return say(f"*What can be said here now* ({run.id}, {run.phase.value})\n" + "\n".join(f"• {line}" for line in said))


def _at_gate(run: Run, pipeline: Pipeline) -> list[str]:
    gate = run.gate
    if gate is None:
        return []
    following = pipeline.led_to(gate.before)
    goal = ", then ".join(f"*{escape(spec.title)}*" for spec in following)
    said = [f"`{'continue' if gate.after else 'go'}`: start {goal}; `wait` takes it back for a moment"]
    for spec in following:
        chosen = settings_of(spec, run.stage(spec.id).overrides)
        for param in spec.params:
            if param.chat:
                name = param.name.replace("_", " ")
                now = words.value(chosen[param.name]) if param.name in chosen else "not set"
                said.append(f"`{name} …`: {_range(param)}, now {now} ({escape(spec.title)})")
    if run.phase is Phase.WAITING:
        said.append("`hold`: start nothing until somebody says `continue`")
    return said


def _range(param: Param) -> str:
    if param.choices:
        return " or ".join(map(escape, param.choices))
    if param.low is None or param.high is None:
        return "any"
    return f"{param.low:g} to {param.high:,.0f}" if param.high >= 1000 else f"{param.low:g} to {param.high:g}"


def _extendable(pipeline: Pipeline) -> bool:
    return any(spec.param(EXTENDED) is not None for spec in pipeline.stages)
