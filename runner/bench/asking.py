"""Asking a server for a greedy answer, and saying what happened to it when none comes."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runner.protocol.errors import ServerError
from runner.serve import Server, generate

_DEATH_S = 10.0  # a server whose worker was killed notices within a few seconds


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Requests at temperature 0 to one server."""

    url: str
    timeout_s: float

    def __call__(self, input_ids: list[int], max_new_tokens: int) -> dict[str, Any]:
        sampling = {"max_new_tokens": max_new_tokens, "temperature": 0}
        return generate(self.url, input_ids, sampling, self.timeout_s)


@contextlib.contextmanager
def naming_death(server: Server, side: str) -> Iterator[None]:
    """A ServerError raised inside comes out with the end of the server's log, and says whether the server died."""
    try:
        yield
    except ServerError as error:
        until_s = time.monotonic() + _DEATH_S
        while server.is_alive and time.monotonic() < until_s:
            time.sleep(0.2)
        if not server.is_alive:
            raise server.death(f"the {side} server died during the benchmark") from error
        raise ServerError(
            f"the {side} server lives, but: {error.message}\n{server.last_lines()}", f"its log: {server.log}"
        ) from error
