"""Records and prompts made by hand for the tests of the benchmark."""

from typing import Any

from runner.bench.records import Record


def record(
    side: str = "baseline",
    prompt: str = "p1",
    output_ids: list[int] | None = None,
    number: int = 0,
    concurrency: int = 1,
    started_s: float = 0.0,
    ended_s: float = 1.0,
    histogram: list[int] | None = None,
    **other: Any,
) -> Record:
    """A record whose counts follow from its output and its histogram of accepted drafts."""
    output_ids = [5, 6, 7, 8] if output_ids is None else output_ids
    given: dict[str, Any] = {
        "side": side,
        "round": number,
        "concurrency": concurrency,
        "prompt": prompt,
        "prompt_tokens": 3,
        "output_ids": output_ids,
        "completion_tokens": len(output_ids),
        "finish": "length",
        "started_s": started_s,
        "ended_s": ended_s,
        "verify_steps": sum(histogram or []),
        "accepted_drafts": sum(accepted * steps for accepted, steps in enumerate(histogram or [])),
        "accepted_histogram": histogram,
    }
    return Record(**{**given, **other})
