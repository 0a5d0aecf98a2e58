"""One JSON object about a finished run: stages, their evidence, the benchmark."""

from datetime import datetime
from typing import Any

from bot.core.attempt import Attempt
from bot.core.model import Run


def report(run: Run, starts: dict[str, int], killed: list[str], seconds: float) -> dict[str, Any]:
    """What `--auto` prints. tok/s at the benchmark's first concurrency."""
    bench = next((stage.latest("work") for stage in run.stages if stage.id == "bench"), None)
    result = (bench.result if bench else None) or {}
    drafted, baseline = result.get("drafted") or {}, result.get("baseline") or {}
    return {
        "run": run.id,
        "phase": run.phase.value,
        "stages": [_stage(run, stage.id) for stage in run.stages],
        "acceptance_length": drafted.get("acceptance_length"),
        "tok_s": {"baseline": baseline.get("tok_s"), "drafted": drafted.get("tok_s")},
        "speedup": result.get("speedup"),
        "identical": [result.get("identical"), result.get("total")],
        "started_once": bool(starts) and all(times == 1 for times in starts.values()),
        "bot_killed_in": killed,
        "seconds": round(seconds, 1),
    }


def _stage(run: Run, stage_id: str) -> dict[str, Any]:
    stage = run.stage(stage_id)
    works = [attempt for attempt in stage.attempts if attempt.purpose == "work"]
    evidence = stage.full_evidence or {}
    checks = [{k: check.get(k) for k in ("name", "ok", "found", "expected")} for check in evidence.get("checks") or []]
    return {
        "stage": stage_id,
        "state": stage.state,
        "attempts": len(works),
        "seconds": _seconds(works[-1]) if works else None,
        "verdict": evidence.get("verdict"),
        "checks": checks,
    }


def _seconds(attempt: Attempt) -> float | None:
    if attempt.started_at is None or attempt.ended_at is None:
        return None
    began, ended = (datetime.fromisoformat(at.replace("Z", "+00:00")) for at in (attempt.started_at, attempt.ended_at))
    return round((ended - began).total_seconds(), 1)
