"""The flow of extract: plan, servers until nothing is missing, manifest."""

import sys

from runner.extract.options import ExtractOptions
from runner.extract.plan import Plan, make_plan
from runner.extract.records import free_bytes, sweep
from runner.extract.session import Session
from runner.extract.station import clear_station
from runner.manifest import Capture, Engine, write_set
from runner.protocol.errors import DiskFull, ServerError
from runner.protocol.status import Progress
from runner.protocol.times import utc_now
from runner.rates import Meter
from runner.stage import status, write_result


def run(options: ExtractOptions) -> None:
    """Raises StageError; the samples that were finished until then are kept."""
    sweep(options.out)
    clear_station(options)
    plan = make_plan(options)
    meter, start_s = Meter(), 0.0
    _check_disk(options, plan)
    restarts = 0
    while plan.missing():
        had = len(plan.rows)
        session = Session(options, plan, meter)
        try:
            session.run()
        except ServerError as error:
            restarts += 1
            if restarts > options.restarts or (len(plan.rows) == had and session.start_s == 0.0):
                raise
            print(f"the server was lost, starting it again: {error.message}", file=sys.stderr)
        finally:
            start_s += session.start_s
    _finish(options, plan, meter, start_s, restarts)


def _check_disk(options: ExtractOptions, plan: Plan) -> None:
    need = sum(len(conversation.input_ids) for conversation in plan.missing()) * plan.bytes_per_token
    free = free_bytes(options.out)
    if need > free:
        raise DiskFull(
            f"{need / 1e9:.1f} GB will be written to {options.out}, {free / 1e9:.1f} GB are free",
            "free space, take fewer samples, or give a folder on a larger disk",
        )


def _finish(options: ExtractOptions, plan: Plan, meter: Meter, start_s: float, restarts: int) -> None:
    rows = [plan.rows[conversation.id] for conversation in plan.wanted]
    manifest = write_set(
        options.out,
        rows,
        model=plan.model,
        engine=Engine(name="sglang", version=plan.facts["engine_version"], patch_digest=plan.facts["patch_digest"]),
        capture=Capture(
            indices=plan.indices, layer_ids=plan.layer_ids, captured=plan.indices, family=plan.model.model_type
        ),
        dtype=plan.dtype,
        hidden_size=plan.hidden_size,
        tokenizer_digest=plan.facts["tokenizer_digest"],
        source_digest=plan.facts["source_digest"],
        created_at=utc_now(),
    )
    table, rates = manifest.samples, meter.rates()
    write_result(
        options.out,
        "extract",
        samples=table.count,
        tokens=table.tokens,
        supervised=table.supervised,
        bytes=table.bytes,
        left_out=plan.left_out,
        not_finite=sum(not row.finite for row in rows),
        indices=list(plan.indices),
        dtype=plan.dtype,
        rates=rates,
        seconds=round(meter.elapsed_s, 1) if meter.samples else 0.0,
        server_start_s=round(start_s, 1),
        restarts=restarts,
    )
    status().update(
        "done", Progress(table.count, table.count, "samples"), message="every sample is written", force=True
    )
