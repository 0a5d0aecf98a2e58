"""The flags of synth."""

from dataclasses import dataclass
from pathlib import Path

from runner.flags import option


@dataclass(frozen=True, kw_only=True)
class SynthOptions:
    """Let the target answer prompts through SGLang. Resumes; with a larger --max-samples it extends what is there."""

    target: Path = option("folder of the target model")
    out: Path = option("data folder to make or to extend")
    prompts: Path | None = option("JSON lines with turns, messages or prompt; without, the target writes its own", None)
    max_samples: int = option("conversations to have in the end", 10000)
    max_new_tokens: int = option("longest answer, a turn", 2048)
    max_length: int = option("longest conversation in tokens; longer ones are dropped", 4096)
    max_turns: int = option("user turns used of a prompt", 4)
    temperature: float = option("0 is greedy", 0.7)
    top_p: float = option("nucleus", 0.95)
    seed: int = option("of sampling", 0)
    prompt_offset: int = option("prompts to pass over at the beginning of the file", 0)
    seconds: float = option("stop asking after this time and keep what is there; 0: no bound", 0.0)
    in_flight: int = option("conversations asked at once", 64)
    supervise_reasoning: bool = option("reasoning text is supervised as it was generated", True)
    reasoning_end: str = option("what closes reasoning text", "</think>")
    dtype: str = option("of the served model", "auto", choices=("auto", "float32", "bfloat16", "float16"))
    tensor_parallel: int = option("GPUs to spread the target over", 1)
    threads: int = option("of the CPU engine; 0: all cores", 0)
    server_args: str = option("more arguments for the server, as one string", "")
