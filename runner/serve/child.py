"""The server's own first process: it dies with the stage that started it, then becomes SGLang."""

import ctypes
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel for SIGTERM when the parent dies, however it dies; SGLang's processes follow this one."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent or parent == 1:  # it died before we asked
        sys.exit(143)


if __name__ == "__main__":
    die_with_parent()
    if os.environ.get("SGLANG_USE_CPU_ENGINE") == "1":
        from runner.serve.forked import fork_from_one

        fork_from_one()
    runpy.run_module("sglang.launch_server", run_name="__main__", alter_sys=True)
