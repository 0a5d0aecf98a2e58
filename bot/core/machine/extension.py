"""More samples for a run that has some: which stages make them, and what their new bounds are."""

from bot.core.errors import WrongState
from bot.core.model import Run
from bot.core.pipeline import Pipeline, StageSpec, settings_of

EXTENDED = "max_samples"  # the setting that bounds how much is made


def extended_stages(pipeline: Pipeline) -> tuple[StageSpec, ...]:
    """The stages that run again: from the first that has such a bound up to the next gate. Raises WrongState."""
    first = next((spec for spec in pipeline.stages if spec.param(EXTENDED) is not None), None)
    if first is None:
        raise WrongState(f"no stage of pipeline {pipeline.name} has a setting {EXTENDED}")
    return pipeline.led_to(first.id)


def extension(run: Run, pipeline: Pipeline, add: int) -> dict[str, int]:
    """The new bound of each of these stages that has one. Raises WrongState outside the pipeline's limits."""
    bounds: dict[str, int] = {}
    for spec in extended_stages(pipeline):
        param = spec.param(EXTENDED)
        if param is None:
            continue
        now = settings_of(spec, run.stage(spec.id).overrides).get(EXTENDED)
        if not isinstance(now, int):
            raise WrongState(f"{spec.id} has no bound that could be raised")
        if add <= 0 or (param.high is not None and now + add > param.high):
            raise WrongState(
                f"{spec.id} takes at most {param.high:,.0f} samples; {now:,} and {add:,} more are too many"
            )
        bounds[spec.id] = now + add
    return bounds
