"""More samples: what that takes."""

from bot.core.cards import escape
from bot.core.machine.extension import EXTENDED, extended_stages, extension
from bot.core.model import Run
from bot.core.pipeline import Pipeline, StageSpec, Value, bytes_of, count_of, seconds_of, settings_of
from bot.core.summary import words


def extension_lines(run: Run, pipeline: Pipeline, add: int) -> list[str]:
    """The plan and its cost. Raises WrongState when it cannot be."""
    bounds, stages = extension(run, pipeline, add), extended_stages(pipeline)
    first = next(spec for spec in stages if spec.id in bounds)
    now = settings_of(first, run.stage(first.id).overrides)[EXTENDED]
    names = ", then ".join(f"*{escape(spec.title)}*" for spec in stages)
    again = [escape(spec.title) for spec in pipeline.stages[pipeline.index(stages[-1].id) + 1 :]]
    lines = [f"Understood: {add:,} more samples, {now:,} → {bounds[first.id]:,}."]
    planned = run.gate is not None and run.gate.after is None
    if planned:
        lines.append("Nothing was made yet, so only the plan changes; it still waits for `go`.")
    else:
        lines.append(f"{names} {'run' if len(stages) > 1 else 'runs'} again; what exists is kept.")
    costs = [cost(spec, run.stage(spec.id).overrides, add / float(now)) for spec in stages if isinstance(now, int)]
    seconds, size = (sum(parts) for parts in zip(*costs, strict=True))
    on = ", ".join(dict.fromkeys(escape(spec.host) for spec in stages))
    told = [
        f"about {words.duration(seconds)}" if seconds else "",
        f"{words.size(size)} more" if size else "",
        f"on {on}",
    ]
    lines.append("Cost: " + " · ".join(part for part in told if part) + ".")
    if again and not planned:
        lines.append(
            f"Then the gate opens again, and {', '.join(again)} {'are' if len(again) > 1 else 'is'} made anew."
        )
    return lines


def cost(spec: StageSpec, overrides: dict[str, Value], share: float) -> tuple[float, float]:
    """Seconds and bytes for `share` of what the stage was estimated to handle, its setup on top."""
    work_s = seconds_of(spec, overrides) - spec.estimate.setup_s
    grows = bytes_of(spec, overrides) - spec.estimate.bytes_fixed
    return spec.estimate.setup_s + work_s * share, grows * share if count_of(spec, overrides) else 0.0
