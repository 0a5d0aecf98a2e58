"""What a server is started with: arguments and environment, by what the machine has."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.hf import load_config, text_config

PATCHES = Path(__file__).parents[2] / "patches" / "sglang"


@dataclass(frozen=True, kw_only=True)
class CaptureSettings:
    """Hidden-state capture by the plugin. `folder` receives the files; `dtype` "auto" keeps the model's.

    `queue_bytes` bounds the states that wait for a writer thread: beyond it the server waits. With a `station` files
    go through that folder, in memory, of which they take `station_bytes` at most.
    """

    folder: Path
    layer_ids: tuple[int, ...]
    dtype: str = "auto"
    writers: int = 4
    queue_bytes: int = 2 << 30
    station: Path | None = None
    station_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class DraftSettings:
    """EAGLE-3 drafting: a chain of `steps` tokens when `topk` is 1, else a tree of `num_draft_tokens`."""

    folder: Path
    steps: int = 3
    topk: int = 1
    num_draft_tokens: int | None = None
    algorithm: str = "EAGLE3"


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """None leaves the choice to SGLang. `prefix_cache` is refused together with `capture` by the plugin."""

    model: Path
    dtype: str = "auto"
    context_length: int | None = None
    max_total_tokens: int | None = None
    chunked_prefill_tokens: int | None = None
    max_running: int | None = None
    tensor_parallel: int = 1
    memory_fraction: float | None = None
    tokenizer: bool = True
    prefix_cache: bool = False
    graphs: bool = True
    capture: CaptureSettings | None = None
    draft: DraftSettings | None = None
    cpu: bool | None = None  # None: by what is there
    threads: int | None = None  # of the CPU engine; None: all cores
    extra: tuple[str, ...] = ()
    start_timeout_s: float = 900.0

    @property
    def on_cpu(self) -> bool:
        return not has_gpu() if self.cpu is None else self.cpu


def has_gpu() -> bool:
    """Whether an NVIDIA GPU may be used here."""
    return Path("/dev/nvidiactl").exists() and os.environ.get("CUDA_VISIBLE_DEVICES", "0") not in ("", "-1")


def served_dtype(model: Path, asked: str = "auto") -> str:
    """What "auto" means: the dtype of the model's config. SGLang's own "auto" turns float32 into float16.

    Raises DataError when the folder holds no config.
    """
    if asked != "auto" or not model.exists():
        return asked
    whole = load_config(model)
    for config in (text_config(whole), whole):
        stated = config.get("dtype") or config.get("torch_dtype")
        if stated:
            return str(stated).removeprefix("torch.")
    return "auto"


def command(settings: ServerSettings, port: int) -> list[str]:
    """The argument vector of the server's process."""
    argv = [sys.executable, "-W", "ignore", "-m", "runner.serve.child", "--model-path", str(settings.model)]
    argv += ["--host", "127.0.0.1", "--port", str(port), "--skip-server-warmup"]
    argv += ["--dtype", served_dtype(settings.model, settings.dtype)]
    numbers = {
        "--context-length": settings.context_length,
        "--max-total-tokens": settings.max_total_tokens,
        "--chunked-prefill-size": settings.chunked_prefill_tokens,
        "--max-running-requests": settings.max_running,
        "--mem-fraction-static": settings.memory_fraction,
        "--tensor-parallel-size": settings.tensor_parallel if settings.tensor_parallel != 1 else None,
    }
    for flag, number in numbers.items():
        if number is not None:
            argv += [flag, str(number)]
    if not settings.tokenizer:
        argv.append("--skip-tokenizer-init")
    if not settings.prefix_cache:
        argv.append("--disable-radix-cache")
    if settings.on_cpu:
        argv += ["--device", "cpu", "--attention-backend", "torch_native"]
        # Our stand-ins answer to the AMX backend's names; as the overall backend SGLang would refuse it without AMX.
        argv += ["--prefill-attention-backend", "intel_amx", "--decode-attention-backend", "intel_amx"]
    if settings.on_cpu or settings.capture:  # a scheduler that spins when idle takes time from the writers' threads
        argv.append("--sleep-on-idle")
    if settings.on_cpu or not settings.graphs or settings.capture:
        argv.append("--disable-cuda-graph")
    return argv + _capture(settings.capture) + _draft(settings.draft) + list(settings.extra)


def _capture(capture: CaptureSettings | None) -> list[str]:
    if capture is None:
        return []
    ids = [str(number) for number in capture.layer_ids]
    return [
        "--enable-return-aux-hidden-states",
        "--speculative-algorithm",
        "EAGLE3",  # names the capture convention only: no drafter is loaded
        "--return-aux-hidden-state-layer-ids",
        *ids,
    ]


def _draft(draft: DraftSettings | None) -> list[str]:
    if draft is None:
        return []
    tokens = draft.num_draft_tokens or draft.steps + 1
    return [
        "--speculative-algorithm",
        draft.algorithm,
        "--speculative-draft-model-path",
        str(draft.folder),
        "--speculative-num-steps",
        str(draft.steps),
        "--speculative-eagle-topk",
        str(draft.topk),
        "--speculative-num-draft-tokens",
        str(tokens),
    ]


def _cores(ranks: int) -> str:
    """SGLang's cores of each rank: "0,1|2,3". With fewer cores than ranks, ranks share them."""
    mine = sorted(os.sched_getaffinity(0))
    shares = [mine[rank::ranks] or [mine[rank % len(mine)]] for rank in range(ranks)]
    return "|".join(",".join(map(str, share)) for share in shares)


def environment(settings: ServerSettings, inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment of the server's process. Plugins are found on PYTHONPATH: nothing is installed."""
    env = dict(inherited)
    code = [str(PATCHES.parents[1])]
    if settings.on_cpu:
        threads = str(settings.threads or os.cpu_count() or 1)
        code.insert(0, str(PATCHES / "cpu"))
        env.update(SGLANG_USE_CPU_ENGINE="1", OMP_NUM_THREADS=threads, TORCHDYNAMO_DISABLE="1")
        if settings.tensor_parallel > 1:  # it wants to be told when ranks outnumber the NUMA nodes
            env.setdefault("SGLANG_CPU_OMP_THREADS_BIND", _cores(settings.tensor_parallel))
    if settings.capture is not None:
        code.insert(0, str(PATCHES / "capture"))
        env.update(
            POINTSMAN_CAPTURE_DIR=str(settings.capture.folder.absolute()),
            POINTSMAN_CAPTURE_DTYPE=settings.capture.dtype,
            POINTSMAN_CAPTURE_WRITERS=str(settings.capture.writers),
            POINTSMAN_CAPTURE_QUEUE_BYTES=str(settings.capture.queue_bytes),
            POINTSMAN_CAPTURE_STATION=str(settings.capture.station.absolute()) if settings.capture.station else "",
            POINTSMAN_CAPTURE_STATION_BYTES=str(settings.capture.station_bytes),
        )
    if settings.model.exists():
        env.setdefault("HF_HUB_OFFLINE", "1")
    env["PYTHONPATH"] = os.pathsep.join([*code, *filter(None, [env.get("PYTHONPATH")])])
    return env
