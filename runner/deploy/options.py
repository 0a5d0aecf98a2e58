"""What a deployment is asked to do."""

from dataclasses import dataclass
from pathlib import Path

from runner import flags
from runner.protocol.errors import DataError


@dataclass(frozen=True, kw_only=True)
class DeployOptions:
    """Put a benchmarked drafter into service: publish it, restart the serving process, see that it does as well there.

    The serving process reads its drafter from SERVING/current (`--speculative-draft-model-path`), a link that is
    switched in one step. When the restart fails, or acceptance falls short, the link goes back and the former drafter
    is served again. Run again after it was killed, it goes on. Writes requests.jsonl and result.json.
    """

    draft: Path = flags.option("folder of the exported drafter")
    bench: Path = flags.option("data folder of its benchmark: what was measured, and what to expect")
    serving: Path = flags.option("folder with the link `current` that the serving process reads its drafter from")
    url: str = flags.option("address of the serving process, such as http://127.0.0.1:30000")
    restart: str = flags.option(
        "command that has it restarted and returns, such as `systemctl --user restart kimi`; no shell. What it starts "
        "itself ends with this stage: the serving process belongs to a service manager"
    )
    out: Path = flags.option("data folder of this stage")
    min_speedup: float = flags.option("benchmarked speed-up below which a drafter is not deployed", 1.0)
    share: float = flags.option("acceptance in service must reach this share of the benchmark's", 0.9)
    num_prompts: int = flags.option("prompts of the benchmark that are asked in service", 8)
    restart_timeout_s: float = flags.option("seconds until a restart command that does not return is an error", 300.0)
    ready_timeout_s: float = flags.option("seconds until a serving process that is not ready is an error", 1800.0)
    request_timeout_s: float = flags.option("seconds until an unanswered request is an error", 600.0)

    def check(self) -> None:
        """Raises DataError for values that fit no deployment."""
        if not self.url.startswith(("http://", "https://")) or self.url.endswith("/"):
            raise DataError(f"--url {self.url}: must begin with http:// and not end with a slash")
        if not self.restart.strip():
            raise DataError("--restart: a command is needed; what is not restarted serves the former drafter")
        if not 0 < self.share <= 1:
            raise DataError(f"--share {self.share}: must lie in (0, 1]")
        if self.num_prompts < 1 or self.min_speedup < 0:
            raise DataError("--num-prompts must be at least 1, --min-speedup cannot be negative")
