"""Gate cards: what finished, what was checked, what comes next, what may be replied."""

from bot.core.cards import Button, Buttons, Card, Part, Small, Text, escape
from bot.core.clicks import Click, button
from bot.core.model import Gate, Run
from bot.core.pipeline import Pipeline, StageSpec, Value, bytes_of, seconds_of, settings_of, tokens_of
from bot.core.summary import evidence, words
from bot.core.summary.results import result_parts
from bot.core.summary.status import attempt_duration


def gate_card(run: Run, pipeline: Pipeline, gate: Gate) -> Card:
    """The hand-off card, also for the plan (no stage before it)."""
    spec = pipeline.stage(gate.before)
    following = pipeline.led_to(gate.before)
    parts: list[Part] = []
    if gate.after is None:
        title = f"{run.id}: the plan"
        fallback = f"{run.id} {run.title}: the plan is ready. Reply `go` to start {spec.title}."
        parts.append(Text(text=_plan(run, pipeline)))
        asks = "go"
    else:
        title, fallback, asks = _finished(run, pipeline, gate, parts)
    parts.append(Text(text=next_steps(run, following)))
    parts.append(Text(text=_replies(following, gate, asks)))
    parts.append(Buttons(buttons=_buttons(run, gate, following)))
    told = run.told(run.started.by if run.started else "")
    return Card(title=title, fallback=fallback, parts=tuple(parts), mentions=told)


def quorum(gate: Gate) -> str:
    """Who has passed it, and how many more are needed; "" where one is enough."""
    if gate.needed < 2:
        return ""
    left = gate.needed - len(gate.passed_by)
    passed = ", ".join(words.person(who) for who, _ in gate.passed_by)
    return f"Needs {gate.needed} different people" + (f": passed by {passed}, *{left} more needed*." if passed else ".")


def _finished(run: Run, pipeline: Pipeline, gate: Gate, parts: list[Part]) -> tuple[str, str, str]:
    after = pipeline.stage(gate.after or "")
    stage = run.stage(after.id)
    work = stage.latest("work")
    took = attempt_duration(work) if work else None
    ended = "finished" + (f" in {words.duration(took)}" if took is not None else "")
    if work is not None and work.adopted:
        ended = "adopted"
        parts.append(Text(text=f"Adopted from {escape(work.host)}: {escape(work.adopted)}, in `{escape(work.out)}`"))
    if stage.state == "waived":
        parts.append(Text(text=f"*Waived* by {words.person(stage.waived_by)}: {escape(stage.waived_why)}"))
    if work is not None:
        parts.extend(result_parts(work))
    full, newest = stage.full_evidence, stage.evidence
    if full is not None and newest is not None:
        parts.extend(evidence.parts(full))
        if newest is not full:
            parts.append(Small(text=f"looked at again before the start: {evidence.brief(newest)}"))
    return (
        f"{run.id}: {after.title} {ended}",
        f"{run.id} {after.title} {ended}. Reply `continue` to start {pipeline.stage(gate.leads_to).title}.",
        "continue",
    )


def _plan(run: Run, pipeline: Pipeline) -> str:
    lines = [f"*{escape(pipeline.title)}*"]
    for i, spec in enumerate(pipeline.stages, 1):
        pause = "  ⏸ _waits for you before it_" if spec.gate else ""
        lines.append(f"{i}. *{escape(spec.title)}* · {estimate(spec, run.stage(spec.id).overrides)}{pause}")
    return "\n".join(lines)


def _job(spec: StageSpec) -> str:
    """2 nodes, 8 GPUs each, partition gpu: what its Slurm job is given."""
    if spec.slurm is None:
        return ""
    told = [f"{spec.slurm.nodes} nodes" if spec.slurm.nodes > 1 else "1 node"]
    if spec.slurm.gpus_per_node:
        told.append(f"{spec.slurm.gpus_per_node} GPUs" + (" each" if spec.slurm.nodes > 1 else ""))
    if spec.slurm.partition:
        told.append(f"partition {escape(spec.slurm.partition)}")
    return f" (Slurm: {', '.join(told)})"


def estimate(spec: StageSpec, overrides: dict[str, Value]) -> str:
    """About 1 h 52 m · 21 M tokens · 1.2 TB · on box1 (GPU 0-7)."""
    told = []
    seconds, tokens = seconds_of(spec, overrides), tokens_of(spec, overrides)
    if seconds:
        told.append(f"about {words.duration(seconds)}")
    if tokens:
        told.append(f"{words.count(round(tokens))} tokens")
    if num_bytes := bytes_of(spec, overrides):
        told.append(words.size(num_bytes))
    gpus = f" (GPU {','.join(map(str, spec.gpus))})" if spec.gpus else _job(spec)
    return " · ".join([*told, f"on {escape(spec.host)}{gpus}"])


def next_steps(run: Run, following: tuple[StageSpec, ...]) -> str:
    """Next: vocab, then train · its settings · where and how long."""
    names = ", then ".join(f"*{escape(spec.title)}*" for spec in following)
    lines = [f"Next: {names}"]
    for spec in following:
        overrides = run.stage(spec.id).overrides
        chosen = {p.name for p in spec.params if p.chat}
        shown = {k: v for k, v in settings_of(spec, overrides).items() if k in chosen}
        said = [words.settings(shown)] if shown else []
        lines.append(f"• {escape(spec.title)}: " + " · ".join([*said, estimate(spec, overrides)]))
    return "\n".join(lines)


def _replies(following: tuple[StageSpec, ...], gate: Gate, asks: str) -> str:
    example = next((p for s in following for p in s.params if p.chat and p.default is not None), None)
    change = ""
    if example is not None and example.default is not None:
        change = f", change a value (`{example.name.replace('_', ' ')} {words.value(example.default)}`)"
    needed = quorum(gate)
    return f"Reply `{asks}`{change}, `hold`, `status` or `help`." + (f" {needed}" if needed else "")


def _buttons(run: Run, gate: Gate, following: tuple[StageSpec, ...]) -> tuple[Button, ...]:
    first, goal = following[0].title, following[-1].title
    label = f"Start {first}" if first == goal else f"Start {first}, then {goal}"
    advance, hold, status = (
        Click(run=run.id, action=action, version=gate.version) for action in ("advance", "hold", "status")
    )
    return button(advance, label[:75], "primary"), button(hold, "Hold"), button(status, "Status")


def stripped(card: Card, said: str) -> Card:
    """The same card once its buttons were used: they are gone, what happened is said instead."""
    kept = tuple(part for part in card.parts if not isinstance(part, Buttons))
    return Card(title=card.title, fallback=card.fallback, parts=(*kept, Small(text=said)))
