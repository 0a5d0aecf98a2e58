"""Specs of small attempts, and waiting for what becomes of them."""

import os
import time
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

from bot.adapters.hosts.host import AgentHost
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import CANCELLED, EXITED, LOST, AttemptView, PollAsk

T = TypeVar("T")

# A script's first part: it waits until somebody makes `go` in its data folder.
AT_THE_GATE = 'while [ ! -e "$OUT/go" ]; do sleep 0.05; done;'


def shell(script: str, attempt: str = "r1-synth-1", token: str = "", **fields: Any) -> AttemptSpec:
    """A script; it finds the attempt's data folder in $OUT."""
    # Another test, whose sweep may be late, has others, and so has another test run on this machine.
    token = token or f"{attempt}.{os.getpid()}.{this_test()}"
    env = {"OUT": "{out}", **fields.pop("env", {})}
    argv = ["sh", "-c", script]
    return AttemptSpec(attempt=attempt, run="r1", stage="synth", token=token, argv=argv, env=env, **fields)


def this_test() -> str:
    """A short name of the test that runs; the same in all its phases."""
    return f"{zlib.crc32(os.environ.get('PYTEST_CURRENT_TEST', '').rpartition(' ')[0].encode()):08x}"


def see(host: AgentHost, spec: AttemptSpec, log_offset: int | None = None, log_max: int = 65536) -> AttemptView:
    return host.poll([PollAsk(spec.attempt, spec.token, log_offset, log_max)]).attempts[0]


def eventually(ask: Callable[[], T], good: Callable[[T], object], within_s: float = 20.0) -> T:
    """The first answer that is good; the last one, in an assertion's words, when none was in time."""
    give_up_s = time.monotonic() + within_s
    while True:
        found = ask()
        if good(found):
            return found
        assert time.monotonic() < give_up_s, f"not in {within_s} s; last seen: {found!r}"
        time.sleep(0.05)


def ended(host: AgentHost, spec: AttemptSpec, within_s: float = 20.0) -> AttemptView:
    return eventually(lambda: see(host, spec), lambda view: view.state in (EXITED, LOST, CANCELLED), within_s)
