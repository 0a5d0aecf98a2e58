"""Orders that wait for something, in plain words."""

from bot.core.cards import escape
from bot.core.model import Run
from bot.core.pipeline import Pipeline
from bot.core.summary import words


def armed_rule(run: Run, pipeline: Pipeline, when: dict[str, float]) -> str:
    """Once extraction has ended and its output is proven, vocabulary, then training start by themselves."""
    after = pipeline.index(run.at) + 1
    gated = next((spec for spec in pipeline.stages[after:] if spec.gate is not None), None)
    if run.gate is not None:
        gated = pipeline.stage(run.gate.before)
    if gated is None:
        return "Nothing follows this stage that could start."
    last = pipeline.before(gated.id) or gated
    goal = ", then ".join(f"*{escape(spec.title)}*" for spec in pipeline.led_to(gated.id))
    start = "start" if len(pipeline.led_to(gated.id)) > 1 else "starts"
    reached = f", at {words.milestone(when)} or more," if when else ""
    proof = f"once *{escape(last.title)}* has ended{reached} and its output is proven"
    rule = f"{proof}, {goal} {start} without a further order."
    return rule + (" The stage is not cut short for it." if when else "")
