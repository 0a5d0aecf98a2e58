"""A new run: the plan, waiting for its first order."""

from dataclasses import replace
from datetime import datetime

from bot.core.effects import Effect, Post
from bot.core.machine.flow import open_gate, start
from bot.core.machine.waiting import first_reminder
from bot.core.model import Phase, Run, StageRun
from bot.core.pipeline import Pipeline, Value
from bot.core.summary.status import status_card


def plan_run(
    *, id_: str, seed: str, pipeline: Pipeline, channel: str, owner: str, at: datetime, overrides: dict[str, Value]
) -> tuple[Run, tuple[Effect, ...]]:
    """Plan a run of `pipeline`. Overrides go to every stage that knows the setting. Starts nothing behind a gate."""
    stages = tuple(
        StageRun(id=spec.id, overrides={p.name: overrides[p.name] for p in spec.params if p.name in overrides})
        for spec in pipeline.stages
    )
    run = Run(
        id=id_,
        pipeline=pipeline.name,
        title=pipeline.title,
        channel=channel,
        owner=owner,
        created_at=at,
        seed=seed,
        stages=stages,
        phase=Phase.WAITING,
        at=pipeline.stages[0].id,
        phase_since=at,
    )
    first = pipeline.stages[0]
    run, effects = (
        open_gate(run, first.id, at, pipeline) if first.gate else start(run, first.id, owner, at, 0.0, pipeline)
    )
    if run.gate is not None:
        run = replace(run, reminder=first_reminder(run, at, pipeline))
    head = Post(key=f"{run.id}/status", card=status_card(run, pipeline, at), parent=True)
    return run, (head, *effects)
