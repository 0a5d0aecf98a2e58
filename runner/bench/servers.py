"""The two servers: the target alone, and the target with the drafter. At once, or one after the other."""

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from runner.bench import files
from runner.bench.records import SIDES
from runner.protocol.errors import ServerError
from runner.protocol.times import utc_now
from runner.serve import Server, ServerSettings, get_json, launch, wait_until_ready

# What is kept of /server_info: what was served, and how.
_FACTS = (
    "model_path", "revision", "weight_version", "version", "device", "dtype", "quantization", "kv_cache_dtype",
    "attention_backend", "tp_size", "disable_radix_cache", "disable_cuda_graph", "speculative_algorithm",
    "speculative_draft_model_path", "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Start:
    """One server start: a line of `servers.jsonl`."""

    side: str
    at: str
    facts: dict[str, Any]


@dataclass(kw_only=True)
class Servers:
    """Gives the server of a side, starting it and ending the other as its placement asks. A context manager."""

    settings: dict[str, ServerSettings]
    together: bool
    out: Path
    tell: Callable[[str], None]
    starts: list[Start] = field(default_factory=list)
    _up: dict[str, Server] = field(default_factory=dict)
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> "Servers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def get(self, side: str) -> Server:
        """The running server of a side. Raises ServerError."""
        if side not in self._up:
            self._end()
            self._start(SIDES if self.together else (side,))
        return self._up[side]

    def _start(self, sides: Sequence[str]) -> None:
        launched = {side: self._stack.enter_context(launch(self.settings[side], self._log(side))) for side in sides}
        for side, server in launched.items():
            wait_until_ready(server, self.settings[side], self.tell)
            self._up[side] = server
            self._note(side, server)

    def _note(self, side: str, server: Server) -> None:
        facts = read_facts(get_json(server.url, "/server_info"))
        check_facts(side, facts, self.settings[side])
        self.starts.append(Start(side=side, at=utc_now(), facts=facts))
        with (self.out / files.STARTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self.starts[-1])) + "\n")

    def _log(self, side: str) -> Path:
        return self.out / "logs" / f"{side}-{sum(start.side == side for start in self.starts) + 1}.log"

    def _end(self) -> None:
        self._up.clear()
        self._stack.close()


def read_facts(info: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a server's own account of itself."""
    return {name: info.get(name) for name in _FACTS}


def check_facts(side: str, facts: dict[str, Any], settings: ServerSettings) -> None:
    """The server's own account against what was asked of it. Raises ServerError when it serves something else."""
    wanted: dict[str, Any] = {"model_path": str(settings.model), "disable_radix_cache": True}
    if settings.draft is None:
        wanted |= {"speculative_algorithm": None, "speculative_draft_model_path": None}
    else:
        wanted |= {
            "speculative_algorithm": settings.draft.algorithm,
            "speculative_draft_model_path": str(settings.draft.folder),
            "speculative_num_steps": settings.draft.steps,
            "speculative_eagle_topk": settings.draft.topk,
        }
    wrong = [f"{name} {facts[name]!r} instead of {value!r}" for name, value in wanted.items() if facts[name] != value]
    if wrong:
        raise ServerError(f"the {side} server says it runs with {'; '.join(wrong)}")
