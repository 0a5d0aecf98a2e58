"""How both servers are started: alike but for the drafter."""

import shlex
from dataclasses import replace
from pathlib import Path

from runner.bench.config import BenchOptions
from runner.bench.records import BASELINE, DRAFTED
from runner.hf import load_config, text_config
from runner.serve import DraftSettings, ServerSettings

_PROCESS_BYTES = 2 << 30  # of one server's processes beside its weights


def make_settings(options: BenchOptions, dtype: str, longest_prompt: int) -> dict[str, ServerSettings]:
    """Settings of both sides: alike but for the drafter. Prefix caching is off: every round asks the same prompts."""
    # A step may verify drafts beyond the last token that is kept.
    tokens = longest_prompt + options.max_new_tokens + 2 * options.verified_tokens
    plain = ServerSettings(
        model=options.target.absolute(),
        dtype=dtype,
        threads=options.threads or None,
        tensor_parallel=options.tensor_parallel,
        extra=tuple(shlex.split(options.server_args)),
        start_timeout_s=options.start_timeout_s,
    )
    if plain.on_cpu:  # SGLang would take most of the memory for its cache, once for each server
        in_flight = max(options.concurrency)
        plain = replace(
            plain, context_length=_round_up(tokens, 256), max_total_tokens=_round_up(2 * in_flight * tokens, 1024)
        )
    draft = DraftSettings(
        folder=options.draft.absolute(),
        steps=options.steps,
        topk=options.topk,
        num_draft_tokens=options.verified_tokens,
        algorithm=options.algorithm,
    )
    drafted = replace(plain, draft=draft, extra=(*plain.extra, *shlex.split(options.draft_server_args)))
    return {BASELINE: plain, DRAFTED: drafted}


def fit_together(settings: ServerSettings, weights_bytes: int, free_bytes: int) -> bool:
    """Whether two servers may be up at once. On a GPU each one takes most of it: only when asked for."""
    return settings.on_cpu and 2 * (weights_bytes + _PROCESS_BYTES) < free_bytes


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def resolve_dtype(asked: str, target: Path) -> str:
    """The dtype to serve in. SGLang's own "auto" would serve float32 weights in float16."""
    if asked != "auto":
        return asked
    config = load_config(target)
    inner = text_config(config)
    found = inner.get("dtype") or inner.get("torch_dtype") or config.get("dtype") or config.get("torch_dtype")
    return str(found or "float32")


def count_weight_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def read_free_bytes() -> int:
    """Memory that programs can still take, by the kernel's estimate; 0 when it does not say."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
