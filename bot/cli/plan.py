"""`python -m bot plan FILE`: what a pipeline would do, before anything is done."""

import json
import textwrap
from pathlib import Path

from bot.cli import arguments
from bot.core.mrkdwn import plain
from bot.core.pipeline import Param, Pipeline, StageSpec, bytes_of, seconds_of, settings_of, tokens_of
from bot.core.summary import words
from bot.pipeline import load_pipeline


def main(argv: list[str]) -> int:
    to = arguments.parser("plan", "Explain a pipeline file: stages, settings, what chat may change, disk and time.")
    to.add_argument("file", type=Path, help="a pipeline, e.g. ops/pipelines/demo.yaml")
    to.add_argument("--json", action="store_true", help="the estimates as one JSON line")
    args = to.parse_args(argv)
    pipeline = load_pipeline(args.file)
    print(json.dumps(totals(pipeline)) if args.json else explain(pipeline))
    return 0


def totals(pipeline: Pipeline) -> dict[str, object]:
    """Estimates by stage and in all: seconds, tokens, bytes."""
    stages = {
        spec.id: {"seconds": seconds_of(spec, {}), "tokens": tokens_of(spec, {}), "bytes": bytes_of(spec, {})}
        for spec in pipeline.stages
    }
    total = {unit: sum(stage[unit] for stage in stages.values()) for unit in ("seconds", "tokens", "bytes")}
    return {"version": 1, "pipeline": pipeline.name, "stages": stages, "total": total, "budget_s": pipeline.budget_s}


def explain(pipeline: Pipeline) -> str:
    """The whole plan as text."""
    lines = [f"{pipeline.name}: {pipeline.title}"]
    lines += [f"   {{{name}}} is {value}" for name, value in pipeline.vars.items()]
    lines.append("")
    for i, spec in enumerate(pipeline.stages, 1):
        lines += [*_stage(i, spec, pipeline), ""]
    seconds = sum(seconds_of(spec, {}) for spec in pipeline.stages)
    disk = sum(bytes_of(spec, {}) for spec in pipeline.stages)
    budget = f" of a budget of {words.duration(pipeline.budget_s)}" if pipeline.budget_s else ""
    lines.append(
        f"In all: about {words.duration(seconds)}{budget}, {words.size(disk)} on disk; waits for people not counted."
    )
    return "\n".join(lines)


def _stage(number: int, spec: StageSpec, pipeline: Pipeline) -> list[str]:
    lines = []
    if spec.gate is not None:
        after = pipeline.before(spec.id)
        what = f"after {after.title}" if after else "at the plan"
        needed = f", {spec.gate.needed} people" if spec.gate.needed > 1 else ""
        lines.append(f"   -- waits {what} for {' or '.join(spec.gate.roles)}{needed} --")
    gpus = f", GPU {','.join(map(str, spec.gpus))}" if spec.gpus else ""
    command = f"runner {spec.verb}" if spec.verb else textwrap.shorten(" ".join(spec.command), 90, placeholder=" …")
    lines.append(f"{number}. {spec.title} ({spec.id}): {command} on {spec.host}{gpus}")
    lines.append(f"   estimate: {_estimate(spec)}")
    if spec.inputs:
        lines.append("   takes: " + ", ".join(f"{flag} from {source}" for flag, source in spec.inputs.items()))
    for name, value in spec.args.items():
        lines.append(f"   fixed: {name} = {value}")
    for param in spec.params:
        lines.append(f"   {'chat may set' if param.chat else 'fixed'}: {_param(param, spec)}")
    if spec.env:
        settings = " ".join(f"{name}={value}" for name, value in spec.env.items())
        lines += textwrap.wrap(f"environment: {settings}", 110, initial_indent="   ", subsequent_indent=" " * 16)
    if spec.secrets:
        lines.append("   secrets (by name, from the bot's environment): " + ", ".join(spec.secrets))
    return lines


def _estimate(spec: StageSpec) -> str:
    told = [words.duration(seconds_of(spec, {}))] if seconds_of(spec, {}) else []
    if tokens := tokens_of(spec, {}):
        told.append(f"{words.count(round(tokens))} tokens")
    if disk := bytes_of(spec, {}):
        told.append(f"{words.size(disk)} on disk")
    budget = [f"{words.duration(spec.budget.seconds)}"] if spec.budget.seconds else []
    budget += [f"{words.count(spec.budget.tokens)} tokens"] if spec.budget.tokens else []
    return (" · ".join(told) or "none given") + (f" (budget {' · '.join(budget)})" if budget else "")


def _param(param: Param, spec: StageSpec) -> str:
    value = settings_of(spec, {}).get(param.name)
    shown = plain(words.value(value)) if value is not None else "as the verb's default"
    bounds = ""
    if param.low is not None and param.high is not None:
        bounds = f", {param.low:g} to {param.high:g}"
    if param.choices:
        bounds = f", one of {', '.join(param.choices)}"
    also = f" (also {', '.join(param.aliases)})" if param.aliases else ""
    unit = f" {param.unit}" if param.unit else ""
    return f"{param.name} = {shown}{unit}{bounds}{also}" + (f": {param.help}" if param.help else "")
