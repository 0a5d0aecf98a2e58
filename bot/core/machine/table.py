"""One transition table: which event is taken in which phase, and by what."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bot.core import events
from bot.core.effects import REFUSED, WORKING, Effect, React
from bot.core.errors import NotNow
from bot.core.machine import adoption, attempts, orders, waiting
from bot.core.model import Phase, Run
from bot.core.pipeline import Pipeline

Handler = Callable[[Run, Any, Pipeline], tuple[Run, tuple[Effect, ...]]]

_GATE = frozenset({Phase.WAITING, Phase.HELD})
_WORK = frozenset({Phase.RUNNING, Phase.VERIFYING})
_TAKEN = frozenset({Phase.STARTING})
_STOPPED = frozenset({Phase.FAILED, Phase.CANCELLED, Phase.BLOCKED})
_ALL = frozenset(Phase)
_ASKS = frozenset({Phase.WAITING, Phase.BLOCKED, Phase.FAILED})  # a person is waited for, and reminded
_TURNS = frozenset({Phase.WAITING, *_STOPPED, Phase.DONE})

TABLE: dict[type[events.Event], tuple[tuple[frozenset[Phase], Handler], ...]] = {
    events.Advance: (
        (_GATE, orders.advance),
        (frozenset({Phase.VERIFYING}), orders.arm),
    ),
    events.Arm: ((_WORK, orders.arm),),
    events.Hold: (
        (frozenset({Phase.WAITING}), orders.hold),
        (_TAKEN, orders.take_back),
        (_WORK | {Phase.CHECKING}, orders.disarm),
        (frozenset({Phase.HELD, Phase.BLOCKED, Phase.FAILED}), orders.keep),
    ),
    events.Override: ((_GATE | _WORK | {Phase.DONE}, orders.override),),
    events.Retry: ((_STOPPED, orders.retry),),
    events.Bench: (
        (frozenset({Phase.DONE}), orders.bench_again),
        (_GATE, orders.bench_at_gate),
        (_STOPPED, orders.bench_again),
    ),
    events.Extend: ((_GATE | _STOPPED | {Phase.DONE}, orders.extend),),
    events.Watch: ((_WORK | _TAKEN | {Phase.CHECKING, Phase.CANCELLING}, orders.watch),),
    events.Waive: ((frozenset({Phase.BLOCKED}), orders.waive),),
    events.Adopt: ((_GATE | _STOPPED, adoption.adopt),),
    events.Cleaned: ((_STOPPED | {Phase.DONE}, adoption.cleaned),),
    events.AskCancel: (
        (_WORK, orders.ask_cancel),
        (_TAKEN, orders.take_back),
        (frozenset({Phase.CHECKING}), orders.disarm),
    ),
    events.Cancel: (
        (_WORK, orders.cancel),
        (_TAKEN, orders.take_back),
        (frozenset({Phase.CHECKING}), orders.disarm),
    ),
    events.Decline: ((_ALL, orders.decline),),
    events.LaunchBegan: ((_ALL, attempts.launch_began),),
    events.LaunchRefused: ((_ALL, attempts.launch_refused),),
    events.Seen: ((_ALL, attempts.seen),),
    events.Unreachable: ((_ALL, attempts.unreachable),),
    events.Remind: ((_ASKS, waiting.remind),),
}


def step(run: Run, event: events.Event, pipeline: Pipeline) -> tuple[Run, tuple[Effect, ...]]:
    """The run after `event`, and what is to be done. Raises NotNow when the phase does not take it."""
    for phases, handler in TABLE[type(event)]:
        if run.phase in phases:
            after, effects = handler(run, event, pipeline)
            after, overtaken = waiting.overtaken(run, after, pipeline)
            effects = (*effects, *overtaken)
            effects = (*effects, *_dropped(run, after, effects))
            return replace(_settled(run, after, event, pipeline), version=run.version + 1), effects
    raise NotNow(f"{run.id} is {run.phase.value} at {run.at}: {type(event).__name__.lower()} changes nothing now")


def _dropped(run: Run, after: Run, effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """An order that waited and does not any more, for whatever reason: unless its message is marked, it is refused."""
    armed = run.armed
    if armed is None or armed.said is None or (after.armed is not None and after.armed.said == armed.said):
        return ()
    channel, ts = armed.said
    if any(isinstance(effect, React) and (effect.channel, effect.ts) == armed.said for effect in effects):
        return ()
    key = f"{run.id}/dropped/{ts}/{run.version + 1}"
    return (React(key=key, channel=channel, ts=ts, name=REFUSED, instead_of=WORKING),)


def _settled(run: Run, after: Run, event: events.Event, pipeline: Pipeline) -> Run:
    """What follows from the phase alone: since when it lasts, whether somebody is reminded, who was told."""
    if after.phase is not run.phase:
        after = replace(after, phase_since=event.at)
        if after.phase in _TURNS:
            after = replace(after, watchers=())
    if after.phase not in _ASKS:
        return replace(after, reminder=None)
    if after.phase is not run.phase or (after.gate and run.gate and after.gate.version != run.gate.version):
        return replace(after, reminder=waiting.first_reminder(after, event.at, pipeline))
    return after
