"""Answers to questions: whatever has to be looked up for them."""

from typing import Any

from bot.core.cards import Card, escape, say
from bot.core.masking import mask
from bot.core.model import Phase, Run
from bot.core.reading.intent import Intent
from bot.core.summary import answers, words
from bot.core.summary.results import bench_parts
from bot.errors import HostError
from bot.service.desk import Desk
from bot.service.polls import Polls
from runner.protocol.errors import ProtocolError
from runner.protocol.view import PollAsk

_TAIL_BYTES = 24_000


def answer(desk: Desk, polls: Polls, intent: Intent, thread_run: str | None) -> Card:
    """The card for a STATUS."""
    view = str(intent.more.get("view", "summary"))
    run_id = intent.run if isinstance(intent.run, str) else thread_run
    run = next((r for r in desk.store.all_runs() if r.id == run_id and r.pipeline in desk.pipelines), None)
    if run is None or view == "list":
        live = [r for r in desk.store.all_runs() if r.phase not in (Phase.DONE, Phase.CANCELLED)]
        return answers.list_card(
            [(r, desk.pipeline(r)) for r in live if r.pipeline in desk.pipelines], desk.clock.now()
        )
    extra: dict[str, Any] = dict(intent.more)
    if view == "logs":
        extra["log"] = _log(desk, run, int(intent.more.get("lines", 20)))
        attempt = run.current
        extra["where"] = f"{attempt.host}:{attempt.log_path}" if attempt and attempt.log_path else ""
    if view == "audit":
        extra["orders"] = desk.store.orders(run.id)
    if view == "compare":
        return _compare(desk, run, str(intent.more.get("with", "")))
    if view in ("gpu", "disk"):
        extra[view] = _gpus(polls, run) if view == "gpu" else _disk(polls, run)
    return answers.view_card(view, run, desk.pipeline(run), desk.clock.now(), extra)


def status(desk: Desk, run: Run) -> Card:
    """The plain status of one run."""
    return answers.view_card("summary", run, desk.pipeline(run), desk.clock.now(), {})


def _log(desk: Desk, run: Run, num_lines: int) -> str:
    """The newest lines, asked of the host now; what is known from before when it does not answer."""
    attempt = run.current
    if attempt is None:
        return ""
    try:
        host = desk.hosts[attempt.host]
        size = host.poll([PollAsk(attempt.id, attempt.token)]).attempts[0].log_size
        start = max(0, size - _TAIL_BYTES)
        body = host.poll([PollAsk(attempt.id, attempt.token, start, _TAIL_BYTES)]).attempts[0].log
    except (HostError, ProtocolError, IndexError):
        return attempt.log_tail
    text = body.decode("utf-8", "replace").replace("\r", "\n")
    lines = mask(text, desk.known_secrets()).splitlines()  # as long as a secret is whole
    return "\n".join(lines[-max(1, min(num_lines, 200)) :])


def _compare(desk: Desk, run: Run, other_id: str) -> Card:
    other = next((r for r in desk.store.all_runs() if r.id == other_id), None)
    if other is None:
        return say(f"There is no run {escape(other_id) or '(none named)'} to compare with.")
    rows = [
        (a, a.result) for r in (run, other) for s in r.stages for a in s.attempts if a.result and "drafted" in a.result
    ]
    if not rows:
        return say(f"Neither {run.id} nor {other.id} has a benchmark yet.")
    return Card(fallback=f"{run.id} and {other.id}", parts=bench_parts(rows))


def _disk(polls: Polls, run: Run) -> str:
    attempt = run.current
    facts = polls.facts.get(attempt.host) if attempt else None
    return f"{words.size(facts.free_bytes)} free of {words.size(facts.total_bytes)}" if facts else ""


def _gpus(polls: Polls, run: Run) -> str:
    attempt = run.current
    facts = polls.facts.get(attempt.host) if attempt else None
    if facts is None or not facts.gpus:
        return "no GPU is known there"
    lines = []
    for gpu in facts.gpus:
        used = f"{words.size(gpu.used_bytes)} of {words.size(gpu.total_bytes)}"
        busy = f", {gpu.utilisation:.0f} %" if gpu.utilisation is not None else ""
        lines.append(f"GPU {gpu.index} {escape(gpu.name)}: {used}{busy}")
    return "\n".join(lines)
