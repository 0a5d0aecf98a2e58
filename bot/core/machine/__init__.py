"""The state machine of a run: `step(run, event, pipeline) -> (run, effects)`, pure."""

from bot.core.machine.plan import plan_run
from bot.core.machine.table import step

__all__ = ["plan_run", "step"]
