"""The flow of synth: what is there, what is missing, asking, and the account at the end."""

import dataclasses
import shlex
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner import hf, identity
from runner.conversations import Conversation, write_conversations
from runner.journal import Journal, read_journal
from runner.protocol.errors import DataError, ProtocolError, StageError
from runner.protocol.files import read_json, write_json
from runner.protocol.status import Progress
from runner.protocol.times import utc_now
from runner.pump import Pump
from runner.rates import Meter
from runner.serve import Server, ServerSettings, generate, serve
from runner.serve.client import post_json
from runner.stage import status, tell_start, write_result
from runner.synth.ask import Answer, Asked, ask_all
from runner.synth.judge import Judge
from runner.synth.options import SynthOptions
from runner.synth.own import SAMPLING, Writer, own_prompts
from runner.synth.prompts import Prompt, read_prompts
from runner.synth.template import end_tokens, take_apart

_FIXED = ("max_new_tokens", "max_length", "max_turns", "temperature", "top_p", "seed", "supervise_reasoning")


@dataclass
class Account:
    """What has become of each prompt so far."""

    kept: dict[str, Conversation] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)

    def has(self, prompt_id: str) -> bool:
        return prompt_id in self.kept or prompt_id in self.dropped


def run(options: SynthOptions) -> None:
    """Raises DataError, ServerError, DiskFull, Interrupted; what was answered until then is kept."""
    options.out.mkdir(parents=True, exist_ok=True)
    prompts, digest = read_prompts(options.prompts) if options.prompts else (own_prompts(options), "own")
    facts = _facts(options, digest)
    _check_identity(options, facts)
    account, judge = _read_account(options)
    had = len(account.kept)
    todo = [prompt for prompt in prompts[options.prompt_offset :] if not account.has(prompt.id)]
    meter, start_s = Meter(), 0.0
    if had < options.max_samples and todo:
        started = time.monotonic()
        with serve(_server_settings(options), options.out / "server.log", tell_start) as server:
            start_s = time.monotonic() - started
            meter = Meter()
            _ask(options, server, todo, account, judge, meter)
    _finish(options, prompts, account, facts, meter, start_s)


def _facts(options: SynthOptions, prompts_digest: str) -> dict[str, Any]:
    return {
        "model": {"path": str(options.target), "revision": identity.weights_revision(options.target)},
        "tokenizer_digest": identity.tokenizer_digest(options.target),
        "prompts_digest": prompts_digest,
        "sampling": {name: getattr(options, name) for name in _FIXED} | ({} if options.prompts else {"own": SAMPLING}),
    }


def _check_identity(options: SynthOptions, facts: dict[str, Any]) -> None:
    """A folder is extended by the same target and sampling alone; prompts may be others. Raises DataError."""
    path = options.out / "identity.json"
    try:
        found = read_json(str(path))
    except FileNotFoundError:
        write_json(str(path), facts)
        return
    except ProtocolError as error:
        raise DataError(f"{path}: {error}") from error
    if found["model"]["revision"] != facts["model"]["revision"]:
        raise DataError(f"{options.out} was made by another target", "give another folder")
    for name, value in facts["sampling"].items():
        if found["sampling"].get(name) != value:
            was = found["sampling"].get(name)
            raise DataError(f"{options.out} was made with {name} {was}, not {value}", "give another folder")


def _read_account(options: SynthOptions) -> tuple[Account, Judge]:
    account, judge = Account(), Judge(options.max_length)
    for entry in read_journal(options.out / "journal.jsonl"):
        if "dropped" in entry:
            account.dropped[entry["id"]] = entry["dropped"]
            continue
        conversation = Conversation.from_json(entry)
        account.kept[conversation.id] = conversation
        judge.keep([conversation.input_ids[start:end] for start, end in conversation.supervised])
    return account, judge


def _server_settings(options: SynthOptions) -> ServerSettings:
    return ServerSettings(
        model=options.target,
        dtype=options.dtype,
        context_length=None,
        max_total_tokens=None if not ServerSettings(model=options.target).on_cpu else _cpu_tokens(options),
        tensor_parallel=options.tensor_parallel,
        tokenizer=False,
        threads=options.threads or None,
        extra=("--random-seed", str(options.seed), *shlex.split(options.server_args)),
    )


def _cpu_tokens(options: SynthOptions) -> int:
    """Room in the KV pool for what is in flight; SGLang would take nearly all of the memory."""
    return min(options.in_flight * min(options.max_length, options.max_new_tokens * options.max_turns + 512), 65536)


def _ask(
    options: SynthOptions, server: Server, todo: Sequence[Prompt], account: Account, judge: Judge, meter: Meter
) -> None:
    work = _asker(options, server)
    left = iter(todo)
    had = len(account.kept)
    deadline_s = time.monotonic() + options.seconds if options.seconds else float("inf")

    def next_job() -> Prompt | None:
        enough = len(account.kept) + pump.in_flight >= options.max_samples
        return None if enough or time.monotonic() > deadline_s else next(left, None)

    pump: Pump[Prompt, Asked] = Pump(next_job, work, jobs=options.in_flight)
    cut = False
    with Journal(options.out / "journal.jsonl") as journal:
        for ended in pump.run():
            if ended is not None:
                prompt, asked = ended
                if isinstance(asked, StageError):
                    raise server.death(asked.message) if not server.is_alive else asked
                _settle(asked, prompt, account, judge, journal)
                meter.add(sum(map(len, asked.answers)))
                continue
            if time.monotonic() > deadline_s and not cut:
                cut = True
                post_json(server.url, "/abort_request", {"rid": "", "abort_all": True})
            _tell(options, account, meter, had)
        journal.flush()


def _asker(options: SynthOptions, server: Server) -> Callable[[Prompt], Asked]:
    tokenizer = hf.load_tokenizer(options.target)
    end_ids = end_tokens(tokenizer, hf.text_config(hf.load_config(options.target)))
    reasoning: list[int] = []
    if not options.supervise_reasoning:
        reasoning = list(tokenizer.encode(options.reasoning_end, add_special_tokens=False))
    sampling = {
        "max_new_tokens": options.max_new_tokens,
        "temperature": options.temperature,
        "stop_token_ids": list(end_ids),
        **({"top_p": options.top_p} if options.temperature > 0 else {}),
    }

    def ask(ids: Sequence[int], how: Mapping[str, Any] = sampling) -> Answer:
        given = generate(server.url, ids, how, timeout_s=3600.0, partial=True)
        output = tuple(given["output_ids"])
        kind = given["meta_info"]["finish_reason"]["type"]
        if kind == "stop" and output and output[-1] in how["stop_token_ids"]:
            return Answer(output, "stop")
        return Answer(output, "budget" if kind == "abort" else "length")

    writer = None if options.prompts else Writer(tokenizer, end_ids)

    def work(prompt: Prompt) -> Asked:
        if writer is not None:
            written = writer.write(prompt, lambda ids: ask(ids, writer.sampling))
            if isinstance(written, Asked):
                return written
            prompt = written
        short = dataclasses.replace(prompt, turns=prompt.turns[: options.max_turns])
        pieces = take_apart(tokenizer, short, end_ids)
        return ask_all(prompt.id, pieces, end_ids[0], lambda ids, _turn: ask(ids), reasoning)

    return work


def _settle(asked: Asked, prompt: Prompt, account: Account, judge: Judge, journal: Journal) -> None:
    fault = judge.fault(asked.conversation.input_ids, asked.answers)
    if fault == "empty" and asked.conversation.finish[-1] == "budget":
        return  # never answered: asked again when the set is extended
    if fault is not None:
        account.dropped[prompt.id] = fault
        journal.append({"id": prompt.id, "dropped": fault})
        return
    judge.keep(asked.answers)
    account.kept[prompt.id] = asked.conversation
    journal.append(asked.conversation.to_json())


def _tell(options: SynthOptions, account: Account, meter: Meter, had: int) -> None:
    done = len(account.kept)
    by_time = meter.eta_s(options.max_samples - done, done - had)
    status().update(
        "running",
        progress=Progress(done, options.max_samples, "samples"),
        rates=meter.rates_now(),
        eta_s=by_time,
        message=f"{done} conversations, {len(account.dropped)} dropped",
    )


def _finish(
    options: SynthOptions,
    prompts: Sequence[Prompt],
    account: Account,
    facts: dict[str, Any],
    meter: Meter,
    start_s: float,
) -> None:
    place = {prompt.id: number for number, prompt in enumerate(prompts)}
    ids = sorted(account.kept, key=lambda name: (place.get(name, -1), name))
    if not ids:
        raise DataError(f"no conversation was kept; dropped: {dict(Counter(account.dropped.values()))}")
    dropped = dict(Counter(account.dropped.values()))
    conversations = [account.kept[name] for name in ids]
    finish = dict(Counter(kind for conversation in conversations for kind in conversation.finish))
    manifest = write_conversations(
        options.out, conversations, **facts, dropped=dropped, finish=finish, created_at=utc_now()
    )
    numbers = {name: manifest["samples"][name] for name in ("count", "tokens", "supervised")}
    write_result(
        options.out,
        "synth",
        samples=numbers["count"],
        tokens=numbers["tokens"],
        supervised=numbers["supervised"],
        dropped=dropped,
        finish=finish,
        generated_tokens_s=meter.rates()["tokens_s"],
        seconds=round(meter.elapsed_s, 1) if meter.samples else 0.0,
        server_start_s=round(start_s, 1),
    )
    status().update("done", Progress(len(ids), len(ids), "samples"), message="conversations are complete", force=True)
