"""A faster start on a CPU machine: SGLang's processes are forked from one that has imported everything already.

SGLang spawns its scheduler and its detokenizer, and each imports all modules again, some seven seconds of CPU time
a process. A fork server imports them once, beside the first process, before any thread exists. Not for GPUs: there
each process must begin by itself.
"""

import multiprocessing
import multiprocessing.forkserver
import os
from typing import Any

_PRELOADED = [
    "sglang.srt.managers.scheduler",
    "sglang.srt.managers.detokenizer_manager",
    "sglang.srt.models.registry",
]


class ForkedProcess(multiprocessing.Process):
    """A process with the environment of the moment it is started in, as a spawned one has."""

    _environment: dict[str, str]

    def start(self) -> None:
        self._environment = dict(os.environ)
        super().start()

    def run(self) -> None:
        os.environ.update(self._environment)
        super().run()


def fork_from_one() -> None:
    """Begin importing in the fork server, and make multiprocessing use it, whatever SGLang asks for."""
    multiprocessing.set_start_method("forkserver", force=True)
    multiprocessing.set_forkserver_preload(_PRELOADED)
    multiprocessing.forkserver.ensure_running()

    def keep(method: str | None, force: bool = False) -> None:
        """SGLang's own choice, "spawn", comes too late."""

    chosen: Any = multiprocessing
    chosen.set_start_method = keep
    chosen.Process = ForkedProcess
