"""One benchmark from its options to its result: prepare, answer all passes, compare, report."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.bench import files
from runner.bench.answers import Divergence, find_divergences, reference_answers
from runner.bench.asking import Greedy, naming_death
from runner.bench.config import BenchOptions
from runner.bench.draft import DraftConfig, check_capture, file_digest, read_draft_config
from runner.bench.load import answer_all
from runner.bench.picture import draw
from runner.bench.probe import look_into
from runner.bench.progress import ProgressReport
from runner.bench.prompts import Prompt, choose_files, choose_questions, find_trained, render, write_prompts
from runner.bench.records import BASELINE, DRAFTED, Record, RecordFile
from runner.bench.report import Circumstances, summarise
from runner.bench.schedule import Pass, plan_passes
from runner.bench.servers import Servers
from runner.bench.serving import count_weight_bytes, fit_together, make_settings, read_free_bytes, resolve_dtype
from runner.hf import load_tokenizer
from runner.identity import config_digest, weights_revision
from runner.protocol.errors import DataError, Interrupted, ServerError
from runner.stage import status, write_result

_WARMUP_TOKENS = 8


def run(options: BenchOptions) -> dict[str, Any]:
    """Measure and write `out`; returns the result. Raises DataError, CaptureMismatch, ServerError, Interrupted."""
    draft = read_draft_config(options.draft, options.target)
    if options.features is not None:
        check_capture(draft, options.features)
    prompts = prepare_prompts(options)
    clear(options.out)
    write_prompts(options.out / files.PROMPTS, prompts)
    try:
        records, divergences, servers = _measure(options, prompts)
    except Interrupted as error:
        raise Interrupted(error.message, "a benchmark is not resumed: run it again, it starts anew") from error
    facts = _circumstances(options, draft, servers)
    result = summarise(records, divergences, facts)
    draw(result, options.out / files.PICTURE)
    write_result(options.out, "bench", **result)
    status().update("done", message=result.get("in_words"), force=True)
    return result


def prepare_prompts(options: BenchOptions) -> list[Prompt]:
    """Raises DataError when a prompt is among those that trained the drafter."""
    questions = choose_questions(choose_files(options.prompts, options.suites), options.num_prompts)
    prompts = render(questions, load_tokenizer(options.target))
    trained = find_trained(questions, prompts, options.train_prompts)
    if trained:
        raise DataError(
            f"{len(trained)} of {len(prompts)} prompts trained the drafter: {', '.join(trained[:5])}",
            "benchmark with prompts that it has never seen",
        )
    return prompts


def clear(out: Path) -> None:
    """Make the data folder; what a former benchmark left there must not pass for this one's."""
    out.mkdir(parents=True, exist_ok=True)
    for name in files.ALL:
        (out / name).unlink(missing_ok=True)


def _measure(options: BenchOptions, prompts: list[Prompt]) -> tuple[list[Record], list[Divergence], Servers]:
    longest = max(len(prompt.input_ids) for prompt in prompts)
    settings = make_settings(options, resolve_dtype(options.dtype, options.target), longest)
    together = options.servers == "together" or (
        options.servers == "auto"
        and fit_together(settings[BASELINE], count_weight_bytes(options.target), read_free_bytes())
    )
    passes = plan_passes(options.rounds, options.concurrency, together)
    progress = ProgressReport(status(), len(passes) * len(prompts))
    with (
        Servers(settings=settings, together=together, out=options.out, tell=progress.tell) as servers,
        RecordFile(options.out / files.RECORDS) as file,
    ):
        turns = _Turns(options=options, prompts=prompts, servers=servers, progress=progress)
        records = []
        for turn in passes:
            answered = turns.answer(turn)
            file.append(answered)
            records += answered
        divergences = _look_into(find_divergences(records), records, prompts, servers, options)
    return records, divergences, servers


@dataclass(kw_only=True)
class _Turns:
    """Carries out one pass after the other."""

    options: BenchOptions
    prompts: list[Prompt]
    servers: Servers
    progress: ProgressReport
    _warm: set[tuple[str, int]] = field(default_factory=set)  # the server's address and a concurrency

    def answer(self, turn: Pass) -> list[Record]:
        server = self.servers.get(turn.side)
        ask = Greedy(url=server.url, timeout_s=self.options.request_timeout_s)
        with naming_death(server, turn.side):
            if (server.url, turn.concurrency) not in self._warm:
                self.progress.tell(f"warming up, {turn.concurrency} in flight")
                self._warm_up(ask, turn)
                self._warm.add((server.url, turn.concurrency))
            self.progress.begin(turn, self.options.rounds)
            records = answer_all(ask, self.prompts, turn, self.options.max_new_tokens, self.progress.tick)
        check_drafting(records)
        self.progress.end(turn, records)
        return records

    def _warm_up(self, ask: Greedy, turn: Pass) -> None:
        """The first requests of a batch size pay for compilation and caches."""
        for _ in range(self.options.warmup):
            answer_all(ask, self.prompts[: turn.concurrency], turn, _WARMUP_TOKENS, lambda record: None)


def check_drafting(records: Sequence[Record]) -> None:
    """Did a drafter work on just these answers, and only where it should? Raises ServerError."""
    for record in records:
        drafted = record.verify_steps > 0
        if record.side == BASELINE and drafted:
            raise ServerError(f"{record.prompt}: the baseline server verified drafts")
        if record.side == DRAFTED and not drafted and record.completion_tokens > 1:
            raise ServerError(
                f"{record.prompt}: {record.completion_tokens} tokens without one verify step: no drafter is used"
            )


def _look_into(
    divergences: list[Divergence],
    records: Sequence[Record],
    prompts: Sequence[Prompt],
    servers: Servers,
    options: BenchOptions,
) -> list[Divergence]:
    if not divergences:
        return []
    server = servers.get(BASELINE)
    inputs = {prompt.id: prompt.input_ids for prompt in prompts}
    with naming_death(server, BASELINE):
        return look_into(divergences, inputs, reference_answers(records), server.url, options.request_timeout_s)


def _circumstances(options: BenchOptions, draft: DraftConfig, servers: Servers) -> Circumstances:
    facts = servers.starts[-1].facts
    return Circumstances(
        steps=options.steps,
        topk=options.topk,
        draft_tokens=options.verified_tokens,
        max_new_tokens=options.max_new_tokens,
        rounds=options.rounds,
        concurrency=options.concurrency,
        algorithm=options.algorithm,
        architectures=draft.architectures,
        capture_checked=options.features is not None,
        device=str(facts["device"]),
        dtype=str(facts["dtype"]),
        near_tie_nats=options.near_tie_nats,
        extra={
            "target": str(options.target),
            "target_config_digest": config_digest(options.target),
            "target_revision": weights_revision(options.target),
            "draft": str(options.draft),
            "draft_config_digest": config_digest(options.draft),
            "draft_digest": file_digest(options.draft / "model.safetensors"),
            "capture_indices": list(draft.indices),
            "prompt_files": [str(path) for path in options.prompts],
            "servers": "together" if servers.together else "alternating",
            "sglang": facts["version"],
            "picture": files.PICTURE,
        },
    )
