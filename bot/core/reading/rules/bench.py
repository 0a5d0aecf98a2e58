"""Orders to run the benchmark."""

from __future__ import annotations

from bot.core.reading.context import Phase
from bot.core.reading.intent import Intent, Kind
from bot.core.reading.rules.moment import Answer, Moment, ask
from bot.core.reading.rules.times import timing
from bot.core.reading.tags import Tag


def bench_order(moment: Moment) -> Answer:
    """The benchmark is next, or was made before, and is named as such."""
    return bench(moment) if moment.is_bench(moment.run.gate_to) or moment.is_benched else None


def bench(moment: Moment) -> Answer:
    """An order to run the benchmark, with its suites and values; also after all stages are done."""
    message = moment.message
    starts = [act for act in moment.go if act.tag in (Tag.DO_STAGE, Tag.BEGIN, Tag.RETRY)]
    suites = list(dict.fromkeys(str(item.value) for item in message.items if item.has(Tag.SUITE)))
    ordered = [act for act in starts if moment.is_bench(act.stage)]
    if not ordered and suites and moment.is_bench(moment.run.gate_to):  # "continue with gsm8k"
        ordered = [act for act in moment.go if act.stage is None]
    if not ordered:
        return None
    why = moment.objection()
    if why is None and any(act.stage is not None and act not in ordered for act in moment.go):
        why = "chained"
    if why is not None:
        return ask(why, moment, "BENCH", **timing(moment, why))
    if moment.run.phase is Phase.BLOCKED:
        return None
    strange = moment.setting_of_another_stage(ordered[0].stage or moment.run.gate_to)
    if strange is not None:
        return ask("unknown_param", moment, "BENCH", param=strange.name)
    return Intent(
        kind=Kind.BENCH,
        rule="",
        run=moment.run.id,
        set=moment.values,
        claim=moment.claim,
        more={"suite": suites} if suites else {},
    )


def bench_before_its_time(moment: Moment) -> Answer:
    """The benchmark is ordered while an earlier stage waits."""
    run = moment.run
    ordered = [act for act in moment.go if moment.is_bench(act.stage)]
    if not ordered or moment.is_bench(run.gate_to) or len(moment.go) > len(ordered):
        return None
    return ask("not_ready", moment, "BENCH")
