"""The flags of extract."""

from dataclasses import dataclass
from pathlib import Path

from runner.flags import option


@dataclass(frozen=True, kw_only=True)
class ExtractOptions:
    """Capture hidden states in prefill. Resumes: what verifies is kept, everything else is made again."""

    target: Path = option("folder of the target model")
    samples: Path = option("data folder of synth")
    out: Path = option("data folder to make, or to complete")
    capture: tuple[int, ...] = option(
        "indices as in transformers' hidden_states[i], ascending (default: 2, half and last but 3)", ()
    )
    dtype: str = option("of the stored states; auto: as served", "auto", choices=("auto", "bfloat16", "float32"))
    model_dtype: str = option("of the served model", "auto", choices=("auto", "bfloat16", "float32", "float16"))
    max_samples: int = option("conversations to take, from the first; 0: all", 0)
    max_length: int = option("longest conversation in tokens", 16384)
    over_long: str = option(
        "longer ones: refuse to start, drop them, or cut their ends (states before the cut stay exact)",
        "refuse",
        choices=("refuse", "drop", "cut"),
    )
    in_flight: int = option("requests at the server at once", 64)
    in_flight_tokens: int = option("their tokens together", 65536)
    chunked_prefill: int = option("tokens a prefill pass; 0: SGLang's choice", 0)
    writers: int = option("threads that write files, in the server", 8)
    station: Path | None = option("folder in memory, such as /dev/shm, that files go through on their way to out", None)
    station_gb: float = option("most that lies there; 0: half of what is free there", 0.0)
    restarts: int = option("times that a server which died is started again", 3)
    tensor_parallel: int = option("GPUs to spread the target over", 1)
    threads: int = option("of the CPU engine; 0: all cores", 0)
    server_args: str = option("more arguments for the server, as one string", "")
