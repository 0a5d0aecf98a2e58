"""What nvidia-smi prints, and what is made of it."""

import os

from runner.agent.gpus import MIB, parse, strangers
from runner.agent.identity import TOKEN_VARIABLE

TEXT = f"""\
0, GPU-a, NVIDIA H200, 3380, 143771, 96
1, GPU-b, NVIDIA H200, 0, 143771, [N/A]

GPU-a, {os.getpid()}, 3380
GPU-a, 4194303, [Not Found]
"""


def test_both_tables_are_read() -> None:
    first, second = parse(TEXT)
    assert (first.index, first.name, first.used_bytes, first.utilisation) == (0, "NVIDIA H200", 3380 * MIB, 96.0)
    assert [process["pid"] for process in first.processes] == [os.getpid(), 4194303]
    assert first.processes[0]["user"] != "?" and first.processes[1]["user"] == "?"
    assert (second.utilisation, second.processes) == (None, [])


def test_strangers_are_named_and_only_on_the_gpus_asked_for() -> None:
    gpus = parse(TEXT)
    assert TOKEN_VARIABLE not in os.environ
    found = strangers(gpus, [0])
    assert found[0].startswith(f"GPU 0: pid {os.getpid()} of ") and found[0].endswith(" holds 3.5 GB")
    assert found[1] == "GPU 0: pid 4194303 of ? holds an unknown amount of memory"
    assert strangers(gpus, [1]) == []
