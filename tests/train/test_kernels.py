"""The GPU's kernels, without a GPU: Triton's interpreter, in a process of its own (it is chosen at import)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_kernels_equal_their_plain_counterparts() -> None:
    command = [sys.executable, "-m", "tests.train.kernel_checks"]
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0 and "kernels agree" in ran.stdout, ran.stderr[-3000:]
