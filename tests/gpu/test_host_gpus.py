"""GPUs as a host tells of them: needs an NVIDIA GPU and its driver."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.hosts import HostSettings, open_host
from bot.adapters.hosts.host import AgentHost
from bot.errors import LaunchFailed
from runner.protocol.view import CANCELLED, EXITED
from tests.hosting.attempts import ended, eventually, see, shell

pytestmark = pytest.mark.skipif(not shutil.which("nvidia-smi"), reason="no NVIDIA GPU here")
HOLDER = Path(__file__).with_name("gpu_holder.py")
SIZE = 3 << 30


@pytest.fixture
def host(tmp_path: Path) -> Iterator[AgentHost]:
    opened = open_host("here", HostSettings(kind="local", root=str(tmp_path / "root"), python=sys.executable))
    yield opened
    opened.close()


def used(host: AgentHost) -> int:
    return host.poll([]).facts.gpus[0].used_bytes


def test_the_first_poll_tells_of_the_gpus_and_later_ones_do_not_wait(host: AgentHost) -> None:
    (gpu, *_) = host.poll([]).facts.gpus
    assert gpu.index == 0 and gpu.name and gpu.total_bytes > 1 << 30
    began_s = time.monotonic()
    for _ in range(20):
        assert host.poll([]).facts.gpus
    assert time.monotonic() - began_s < 1


def test_a_strangers_process_refuses_the_launch_and_is_named(host: AgentHost) -> None:
    with subprocess.Popen([sys.executable, str(HOLDER), str(SIZE)], stdout=subprocess.PIPE) as stranger:
        try:
            assert stranger.stdout is not None and stranger.stdout.readline() == b"up\n"
            with pytest.raises(LaunchFailed) as raised:
                host.launch(shell("true", gpus=[0]), {})
            assert raised.value.kind == "gpus-busy"
            assert f"pid {stranger.pid}" in str(raised.value) and "GB" in str(raised.value)
            host.launch(shell("true", attempt="r1-vocab-1"), {})
        finally:
            stranger.kill()
    assert ended(host, shell("true", attempt="r1-vocab-1")).state == EXITED


def test_a_kill_frees_the_memory_and_our_own_process_is_no_stranger(host: AgentHost) -> None:
    before = eventually(lambda: used(host), lambda size: size < SIZE, 30)
    first = shell(f'exec setsid {sys.executable} "{HOLDER}" {SIZE}', gpus=[0])
    host.launch(first, {})
    eventually(lambda: see(host, first, 0).log, lambda log: b"up" in log, 60)
    eventually(lambda: used(host), lambda size: size >= before + SIZE, 30)
    second = shell("exit 0", attempt="r2-train-1", gpus=[0])
    assert "held by r1-synth-1" in host.launch(second, {}).why
    view = host.kill(first.attempt, first.token, 2.0)
    assert (view.state, view.survivors) == (CANCELLED, [])
    assert ended(host, second).rc == 0
    eventually(lambda: used(host), lambda size: size < before + SIZE, 30)
