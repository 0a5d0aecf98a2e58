"""A hook for tests: die at a named step, as a power cut would have it."""

import os
import signal

VARIABLE = "POINTSMAN_CRASH_AT"

# Every step after which something durable has changed, in the order of a launch.
STEPS = (
    "agent.folder",
    "agent.locked",
    "agent.spec",
    "agent.reserved",
    "agent.forked",
    "supervisor.detached",
    "supervisor.child",
    "supervisor.started",
    "supervisor.released",
    "supervisor.answered",
    "agent.answered",
    "supervisor.ended",
    "supervisor.record",
    "supervisor.renamed",
)

# The same for a launch by Slurm.
SUBMIT_STEPS = ("submit.intended", "submit.accepted", "submit.noted")


def reach(step: str) -> None:
    """Kill this process if the variable names `step`."""
    if os.environ.get(VARIABLE) == step:
        os.kill(os.getpid(), signal.SIGKILL)
