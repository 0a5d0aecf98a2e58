"""`python -m bot runs`: where every run stands."""

import json
from datetime import UTC, datetime

from bot.cli import arguments, wiring
from bot.config import load_config
from bot.core.mrkdwn import plain
from bot.core.summary.status import standing


def main(argv: list[str]) -> int:
    to = arguments.parser("runs", "List runs, newest last.")
    arguments.add_config(to)
    to.add_argument("--json", action="store_true", help="one JSON object a run")
    args = to.parse_args(argv)
    config = load_config(args.config)
    pipelines, store = config.load_pipelines(), wiring.open_database(config)
    now = datetime.now(UTC)
    for run in store.all_runs():
        if args.json:
            stages = {s.id: {"state": s.state, "attempts": [a.id for a in s.attempts]} for s in run.stages}
            print(
                json.dumps(
                    {"run": run.id, "pipeline": run.pipeline, "phase": run.phase, "at": run.at, "stages": stages}
                )
            )
            continue
        pipeline = pipelines.get(run.pipeline)
        where = plain(standing(run, pipeline, now)) if pipeline else f"pipeline {run.pipeline} is not configured"
        print(f"{run.id:<6} {run.title} · {where}")
    store.close()
    return 0
