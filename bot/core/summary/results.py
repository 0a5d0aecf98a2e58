"""What a stage made, in numbers, from its result.json; benchmarks side by side."""

from collections.abc import Callable
from typing import Any

from bot.core.attempt import Attempt
from bot.core.cards import Part, Table, Text, escape
from bot.core.model import StageRun
from bot.core.summary import words

_SKIPPED = ("version", "stage", "server_start_s", "data_wait_share", "exported_step", "restarts")
_LONGEST = 20  # digests and paths are for the evidence and the log


def result_parts(attempt: Attempt) -> tuple[Part, ...]:
    """The plain numbers of a stage's result; nested ones are left to whoever knows them."""
    result = attempt.result or {}
    if "drafted" in result and "baseline" in result:
        return bench_parts([(attempt, result)])
    told = [
        f"{escape(_label(key))} *{_shown(key, found)}*"
        for key, found in result.items()
        if key not in _SKIPPED and isinstance(found, int | float | str) and len(str(found)) <= _LONGEST
    ]
    return (Text(text=" · ".join(told[:12])),) if told else ()


def _label(key: str) -> str:
    return f"{key.removesuffix('_s')}/s".replace("_", " ") if key.endswith("tokens_s") else key.replace("_", " ")


def _shown(key: str, found: float | str) -> str:
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, str):
        return escape(found)
    shown = {"bytes": words.size, "seconds": words.duration}.get(key)
    return shown(found) if shown else words.count(round(found, 4))


def bench_history(stage: StageRun) -> tuple[Part, ...]:
    """Every finished benchmark of a run, side by side."""
    rows = [(a, a.result) for a in stage.attempts if a.purpose == "work" and a.result and "drafted" in a.result]
    return bench_parts(rows)


def bench_parts(rows: list[tuple[Attempt, dict[str, Any]]]) -> tuple[Part, ...]:
    """One column a benchmark: tok/s, acceptance, speed-up, equality of outputs; then what it means in words."""
    if not rows:
        return ()
    header = ("", *(f"attempt {attempt.n}" for attempt, _ in rows))
    lines: list[tuple[str, ...]] = []
    for label, reader in _LINES:
        cells = tuple(reader(attempt, result) for attempt, result in rows)
        if any(cells):
            lines.append((label, *cells))
    parts: list[Part] = [Table(header=header, rows=tuple(lines))]
    if said := rows[-1][1].get("in_words"):
        parts.append(Text(text=escape(str(said))))
    return tuple(parts)


def _tok_s(side: str, result: dict[str, Any]) -> str:
    rate = result[side].get("tok_s")
    return words.count(round(rate, 1)) if isinstance(rate, int | float) else ""


def _number(result: dict[str, Any], *path: str, digits: int = 3) -> str:
    found: Any = result
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return f"{found:.{digits}f}" if isinstance(found, int | float) else ""


def _same(result: dict[str, Any]) -> str:
    identical, total = result.get("identical"), result.get("total")
    return f"{identical}/{total}" if identical is not None and total is not None else ""


def _settings(attempt: Attempt, result: dict[str, Any]) -> str:
    shown = {k: v for k, v in attempt.settings.items() if k in ("suites", "steps", "topk", "concurrency")}
    return words.settings(shown).replace("`", "")


_Reader = Callable[[Attempt, dict[str, Any]], str]
_LINES: tuple[tuple[str, _Reader], ...] = (
    ("settings", _settings),
    ("baseline tok/s", lambda _, result: _tok_s("baseline", result)),
    ("drafted tok/s", lambda _, result: _tok_s("drafted", result)),
    ("acceptance length", lambda _, result: _number(result, "drafted", "acceptance_length")),
    ("speed-up", lambda _, result: _number(result, "speedup")),
    ("break-even acceptance", lambda _, result: _number(result, "breakeven")),
    ("outputs equal", lambda _, result: _same(result)),
)
