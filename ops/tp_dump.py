"""What several tensor-parallel ranks dump against what one does: files, who wrote them, and how far rows lie apart."""

import multiprocessing
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file

from runner import target
from runner.hf import import_transformers
from runner.protocol.errors import StageError
from runner.serve import wait_until_ready
from runner.serve.settings import has_gpu
from runner.verify.recompute import row_errors

if TYPE_CHECKING:
    from ops.bench_extract import Started

STATES = ("aux_hidden_states", "last_hidden_states")
# how far rows may lie apart as a share of their length: in fp32 the worst row, in bf16 the median one
CLOSE = {"float32": 1e-4, "bfloat16": 2e-2}


def compare(
    start: Callable[[Path, int, tuple[str, ...]], AbstractContextManager["Started"]], root: Path,
    prompts: list[list[int]], ranks: int, dp_attention: bool, dtype: str,
) -> dict[str, Any]:  # fmt: skip
    """Dumps of the same prompts, one server after another: by one rank, by `ranks`, and with data-parallel attention.

    `start`: (folder, ranks, more server arguments) -> a server.
    """
    ways: dict[str, tuple[int, tuple[str, ...]]] = {"one": (1, ()), "tp": (ranks, ())}
    if dp_attention:
        ways["dp_attention"] = (ranks, ("--enable-dp-attention", "--dp-size", str(ranks)))
    found: dict[str, Any] = {}
    for name, (size, extra) in ways.items():
        try:
            with start(root / name, size, extra) as server:
                wait_until_ready(server.server, server.settings, lambda text: None)
                server.dump(prompts, 0)
        except StageError as error:
            if name != "dp_attention":
                raise
            found[name] = {"error": error.message[-500:]}
            continue
        if name != "one":
            found[name] = _against(root / "one", root / name, len(prompts), dtype)
    return found


def _against(one: Path, many: Path, prompts: int, dtype: str) -> dict[str, Any]:
    files = sorted(path.relative_to(many) for path in many.glob("samples/*/*.safetensors"))
    records = [list(filter(None, path.read_text().splitlines())) for path in many.glob("capture/records-*.jsonl")]
    apart: dict[str, list[torch.Tensor]] = {name: [] for name in STATES}
    same_tokens = True
    for file in files:
        ours, theirs = load_file(many / file), load_file(one / file)
        same_tokens &= torch.equal(ours["input_ids"], theirs["input_ids"])
        for name in STATES:
            mine, other = (t[name].float().unflatten(-1, (-1, t[STATES[1]].shape[-1])) for t in (ours, theirs))
            apart[name].append(row_errors(mine.flatten(0, -2), other.flatten(0, -2)))
    errors = {name: torch.cat(rows) for name, rows in apart.items()}
    shown = {name: {"median": float(rows.median()), "worst": float(rows.max())} for name, rows in errors.items()}
    worst = max(rows["worst" if dtype == "float32" else "median"] for rows in shown.values())
    return {
        "samples": prompts, "files": len(files), "records": sum(map(len, records)),
        "ranks_that_wrote": sum(1 for lines in records if lines), "same_tokens": same_tokens, "rows_apart": shown,
        "equal": same_tokens and len(files) == prompts == sum(map(len, records)) and worst <= CLOSE[dtype],
    }  # fmt: skip


def make_target(folder: Path, dtype: str) -> Path:
    """A random Llama whose heads two ranks can share: tiny on a CPU, of 8B's row and 16 layers on a GPU."""
    if not has_gpu():
        target.make("tiny-llama", folder, dtype)
        return folder
    maker = multiprocessing.get_context("spawn").Process(target=_write_large, args=(folder,))  # and leaves the GPU
    maker.start()
    maker.join()
    if maker.exitcode:
        raise SystemExit("no target was made")
    return folder


def _write_large(folder: Path) -> None:
    transformers = import_transformers()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    config = transformers.LlamaConfig(
        vocab_size=32000, hidden_size=4096, intermediate_size=14336, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, head_dim=128, max_position_embeddings=8192, tie_word_embeddings=False,
    )  # fmt: skip
    with torch.device("cuda"):
        model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(folder)
