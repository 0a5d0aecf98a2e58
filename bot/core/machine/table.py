"""One transition table: which event is taken in which phase, and by what."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bot.core import events
from bot.core.effects import Effect
from bot.core.errors import WrongState
from bot.core.machine import attempts, orders
from bot.core.model import Phase, Run
from bot.core.pipeline import Pipeline

Handler = Callable[[Run, Any, Pipeline], tuple[Run, tuple[Effect, ...]]]

_GATE = frozenset({Phase.WAITING, Phase.HELD})
_MADE = frozenset({Phase.RUNNING, Phase.VERIFYING, Phase.CHECKING, Phase.CANCELLING})
_STOPPED = frozenset({Phase.FAILED, Phase.CANCELLED, Phase.BLOCKED})
_ALL = frozenset(Phase)

TABLE: dict[type[events.Event], tuple[tuple[frozenset[Phase], Handler], ...]] = {
    events.Advance: (
        (_GATE, orders.advance),
        (frozenset({Phase.VERIFYING}), orders.arm),
    ),
    events.Arm: ((frozenset({Phase.RUNNING, Phase.VERIFYING}), orders.arm),),
    events.Hold: (
        (frozenset({Phase.WAITING}), orders.hold),
        (frozenset({Phase.STARTING}), orders.take_back),
        (frozenset({Phase.CHECKING, Phase.RUNNING, Phase.VERIFYING}), orders.disarm),
        (frozenset({Phase.HELD, Phase.BLOCKED, Phase.FAILED}), orders.keep),
    ),
    events.Override: ((_GATE | frozenset({Phase.RUNNING, Phase.VERIFYING, Phase.DONE}), orders.override),),
    events.Retry: ((_STOPPED, orders.retry),),
    events.Bench: (
        (frozenset({Phase.DONE}), orders.bench_again),
        (_GATE, orders.bench_at_gate),
        (_STOPPED, orders.bench_again),
    ),
    events.Waive: ((frozenset({Phase.BLOCKED}), orders.waive),),
    events.AskCancel: ((_MADE - {Phase.CANCELLING}, orders.ask_cancel),),
    events.Cancel: (
        (_MADE - {Phase.CANCELLING}, orders.cancel),
        (frozenset({Phase.STARTING}), orders.take_back),
    ),
    events.Decline: ((_ALL, orders.decline),),
    events.LaunchBegan: ((_ALL, attempts.launch_began),),
    events.LaunchRefused: ((_MADE, attempts.launch_refused),),
    events.Seen: ((_ALL, attempts.seen),),
    events.Unreachable: ((_ALL, attempts.unreachable),),
}


def step(run: Run, event: events.Event, pipeline: Pipeline) -> tuple[Run, tuple[Effect, ...]]:
    """The run after `event`, and what is to be done. Raises WrongState when the phase does not take it."""
    for phases, handler in TABLE[type(event)]:
        if run.phase in phases:
            after, effects = handler(run, event, pipeline)
            if after.phase is not run.phase:
                after = replace(after, phase_since=event.at)
            return replace(after, version=run.version + 1), effects
    raise WrongState(_refusal(run, event))


def _refusal(run: Run, event: events.Event) -> str:
    what = type(event).__name__
    by = f", started by {run.started.by}" if run.started else ""
    return f"{run.id} is {run.phase.value} at {run.at}{by}: {what.lower()} changes nothing now"
