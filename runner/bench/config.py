"""What a benchmark is asked to do."""

from dataclasses import dataclass
from pathlib import Path

from runner import flags
from runner.protocol.errors import DataError

ALGORITHMS = ("EAGLE3", "EAGLE")
PLACEMENTS = ("auto", "together", "alternating")


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """Measure a drafter: the same prompts, at temperature 0, by the target alone and by the target with the drafter.

    Writes requests.jsonl (one line a request), servers.jsonl (one line a server start), result.json and bench.png.
    """

    target: Path = flags.option("folder of the target model")
    draft: Path = flags.option("folder of the exported drafter: config.json, model.safetensors")
    prompts: tuple[Path, ...] = flags.option("prompt files, JSON lines with turns, messages or prompt")
    out: Path = flags.option("data folder of this stage")
    features: Path | None = flags.option("features that trained the drafter: their capture is checked", None)
    train_prompts: tuple[Path, ...] = flags.option(
        "prompts or samples that trained the drafter (JSON lines, or a synth folder): none may be benchmarked", ()
    )
    suites: tuple[str, ...] = flags.option("of the prompt files only those of these names (gsm8k is gsm8k.jsonl)", ())
    num_prompts: int = flags.option("prompts to use, shared evenly between the files; 0: all", 0)
    max_new_tokens: int = flags.option("tokens an answer at most", 128)
    rounds: int = flags.option("times that each server answers all prompts, at each concurrency", 3)
    concurrency: tuple[int, ...] = flags.option("requests in flight, one or more values", (1,))
    steps: int = flags.option("draft steps before each verification", 3)
    topk: int = flags.option("branches a draft step; 1 is a chain", 1)
    draft_tokens: int | None = flags.option("tokens verified a step; default steps + 1 where topk is 1", None)
    algorithm: str = flags.option("SGLang's speculative algorithm", "EAGLE3", choices=ALGORITHMS)
    servers: str = flags.option(
        "both servers at once, or one after the other; auto: at once on a CPU with memory for two",
        "auto",
        choices=PLACEMENTS,
    )
    dtype: str = flags.option("weights and activations of both servers; auto: as in the target's config", "auto")
    threads: int = flags.option("CPU threads of each server, on a machine without GPU; 0: all cores", 0)
    tensor_parallel: int = flags.option("GPUs for each server", 1)
    server_args: str = flags.option("more arguments for both servers, as on a command line", "")
    draft_server_args: str = flags.option("more arguments for the drafted server alone", "")
    warmup: int = flags.option("untimed batches after each start, at each concurrency", 1)
    request_timeout_s: float = flags.option("seconds until an unanswered request is an error", 600.0)
    start_timeout_s: float = flags.option("seconds until a server that is not ready is an error", 900.0)
    near_tie_nats: float = flags.option(
        "a first divergence is a near tie when the target's log-probability of either token is this close to its best",
        0.25,
    )

    def check(self) -> None:
        """Raises DataError for values that fit no benchmark."""
        positive: dict[str, float] = {
            "rounds": self.rounds,
            "steps": self.steps,
            "topk": self.topk,
            "tensor-parallel": self.tensor_parallel,
        }
        positive |= {"max-new-tokens": self.max_new_tokens, "request-timeout-s": self.request_timeout_s}
        for name, value in positive.items():
            if value <= 0:
                raise DataError(f"--{name} {value}: must be above 0")
        if not self.concurrency or min(self.concurrency) < 1 or len(set(self.concurrency)) < len(self.concurrency):
            raise DataError(f"--concurrency {self.concurrency}: one or more different numbers above 0")
        if self.num_prompts < 0 or self.warmup < 0:
            raise DataError("--num-prompts and --warmup cannot be negative")
        if self.topk > 1 and self.draft_tokens is None:
            raise DataError("--topk above 1 needs --draft-tokens", "for example 3 times the steps")
        if self.verified_tokens < 2:
            raise DataError(f"--draft-tokens {self.draft_tokens}: at least 2, the last token and one draft")

    @property
    def verified_tokens(self) -> int:
        """Tokens in one verification: the last known one and the drafts."""
        return self.draft_tokens if self.draft_tokens is not None else self.steps + 1
