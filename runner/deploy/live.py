"""The serving process from outside: restarted by its service manager, asked what it serves, asked for answers."""

import contextlib
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.bench.asking import Greedy
from runner.bench.load import answer_all
from runner.bench.records import DRAFTED, Record
from runner.bench.schedule import Pass
from runner.bench.servers import read_facts
from runner.deploy.expected import Expected
from runner.protocol.errors import ServerError
from runner.serve import get_json
from runner.serve.client import is_healthy

_LOOK_S = 0.2
_ONCE = Pass(side=DRAFTED, round=0, concurrency=1)
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the serving process says of itself. `start`: its account of its own start, another at every start."""

    facts: dict[str, Any]
    start: Any


def look(url: str) -> Seen | None:
    """None while it does not answer."""
    if not is_healthy(url):
        return None
    with contextlib.suppress(ServerError):
        info = get_json(url, "/server_info")
        return Seen(facts=read_facts(info), start=info.get("startup_time"))
    return None


def restart(command: str, url: str, restart_timeout_s: float, ready_timeout_s: float, log: Path, tell: Tell) -> None:
    """Run the command and wait for a process that started after it; with `ready_timeout_s` 0 only run it.

    That it is another process is known by its own account of its start; only where there is none, by its having been
    silent in between: a busy process may be silent, too. Raises ServerError, with the command's last words.
    """
    before, was_healthy = look(url), is_healthy(url)
    with _Silence(url, heard=before is None and not was_healthy) as silence:
        _run(command, restart_timeout_s, log, tell)
        until_s = time.monotonic() + ready_timeout_s
        while time.monotonic() < until_s:
            now = look(url)
            if now is not None and _is_another(now, before, silence.heard):
                return
            tell("waiting for the serving process")
            time.sleep(_LOOK_S)
    if ready_timeout_s == 0:
        return
    what = "does not answer" if look(url) is None else "is still the former one"
    raise ServerError(f"{what} {ready_timeout_s:g} s after `{command}`: the process at {url}", f"what it said: {log}")


def _is_another(now: Seen, before: Seen | None, was_silent: bool) -> bool:
    if before is None or before.start is None or now.start is None:
        return was_silent
    return bool(now.start != before.start)


def _run(command: str, timeout_s: float, log: Path, tell: Tell) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        try:
            process = subprocess.Popen(
                shlex.split(command), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, process_group=0
            )
        except (OSError, ValueError) as error:
            raise ServerError(f"`{command}` cannot be run: {error}", "see --restart") from error
        until_s = time.monotonic() + timeout_s
        try:
            while process.poll() is None:
                if time.monotonic() > until_s:
                    raise ServerError(f"`{command}` did not return within {timeout_s:g} s", f"what it said: {log}")
                tell(f"restarting: {command}")
                time.sleep(_LOOK_S)
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode != 0:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
        raise ServerError(f"`{command}` ended with {process.returncode}: {' / '.join(said)}", f"what it said: {log}")


class _Silence:
    """Watches from its beginning whether the process ever fails to answer."""

    def __init__(self, url: str, heard: bool) -> None:
        self.heard = heard
        self._url, self._stop = url, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(_LOOK_S) and not self.heard:
            self.heard = not is_healthy(self._url)

    def __enter__(self) -> "_Silence":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()


def misfits(facts: dict[str, Any], release: Path, expected: Expected) -> Iterator[str]:
    """In what the process serves otherwise than was benchmarked."""
    path = facts.get("speculative_draft_model_path")
    if not path or Path(str(path)).resolve() != release.resolve():
        yield f"its drafter is {path}, not {release}"
    wanted = {
        "speculative_algorithm": expected.algorithm,
        "speculative_num_steps": expected.steps,
        "speculative_eagle_topk": expected.topk,
    }
    for name, value in wanted.items():
        if facts.get(name) != value:
            yield f"{name.removeprefix('speculative_')} is {facts.get(name)}, benchmarked was {value}"


def ask(url: str, expected: Expected, timeout_s: float, tick: Callable[[Record | None], None]) -> list[Record]:
    """The benchmark's prompts once more, one after the other. Raises ServerError."""
    greedy = Greedy(url=url, timeout_s=timeout_s)
    return answer_all(greedy, expected.prompts, _ONCE, expected.max_new_tokens, tick)
