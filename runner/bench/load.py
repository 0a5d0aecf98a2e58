"""The load generator: a fixed number of requests in flight until every prompt is answered."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from runner.bench.prompts import Prompt
from runner.bench.records import Record
from runner.bench.schedule import Pass
from runner.protocol.errors import ServerError

_TICK_S = 2.0


class Generate(Protocol):
    """Sends one request and waits for the answer: the server's JSON. Raises ServerError. Called from many threads."""

    def __call__(self, input_ids: list[int], max_new_tokens: int) -> dict[str, Any]: ...


def answer_all(
    generate: Generate,
    prompts: Sequence[Prompt],
    turn: Pass,
    max_new_tokens: int,
    tick: Callable[[Record | None], None],
) -> list[Record]:
    """Every prompt once, `turn.concurrency` in flight, in the order of the prompts. Records come in that order too.

    `tick` is called on the calling thread with each answer, and with None while none comes. Raises ServerError for
    the first request that fails; those still in flight are left to end with their server.
    """
    todo: queue.SimpleQueue[Prompt] = queue.SimpleQueue()
    for prompt in prompts:
        todo.put(prompt)
    done: queue.SimpleQueue[Record | Exception] = queue.SimpleQueue()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                prompt = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put(_ask(generate, prompt, turn, max_new_tokens))
            except Exception as error:  # handed to the calling thread, which raises it
                done.put(error)
                return

    workers = [threading.Thread(target=work, daemon=True) for _ in range(min(turn.concurrency, len(prompts)))]
    for worker in workers:
        worker.start()
    records: dict[str, Record] = {}
    try:
        while len(records) < len(prompts):
            try:
                item = done.get(timeout=_TICK_S)
            except queue.Empty:
                tick(None)
                continue
            if isinstance(item, Exception):
                raise item
            records[item.prompt] = item
            tick(item)
    finally:
        stop.set()
    return [records[prompt.id] for prompt in prompts]


def _ask(generate: Generate, prompt: Prompt, turn: Pass, max_new_tokens: int) -> Record:
    started_s = time.monotonic()
    reply = generate(prompt.input_ids, max_new_tokens)
    ended_s = time.monotonic()
    return read_reply(reply, prompt, turn, started_s, ended_s)


def read_reply(reply: dict[str, Any], prompt: Prompt, turn: Pass, started_s: float, ended_s: float) -> Record:
    """SGLang's answer as a record. Raises ServerError when it was aborted, is empty or miscounts."""
    try:
        meta: dict[str, Any] = reply["meta_info"]
        output_ids = [int(token) for token in reply["output_ids"]]
        finish = str((meta["finish_reason"] or {}).get("type"))
        tokens = int(meta["completion_tokens"])
    except (KeyError, TypeError, ValueError) as error:
        raise ServerError(f"{prompt.id}: the server's answer lacks {error}") from error
    if finish not in ("stop", "length") or not output_ids:
        raise ServerError(f"{prompt.id}: not answered, finish reason {meta['finish_reason']}")
    if tokens != len(output_ids):
        raise ServerError(f"{prompt.id}: {len(output_ids)} tokens came, the server counts {tokens}")
    return Record(
        side=turn.side,
        round=turn.round,
        concurrency=turn.concurrency,
        prompt=prompt.id,
        prompt_tokens=len(prompt.input_ids),
        output_ids=output_ids,
        completion_tokens=tokens,
        finish=finish,
        started_s=started_s,
        ended_s=ended_s,
        verify_steps=int(meta.get("spec_verify_ct", 0)),
        accepted_drafts=int(meta.get("spec_num_correct_drafts", 0)),
        accepted_histogram=meta.get("spec_correct_drafts_histogram"),
    )
