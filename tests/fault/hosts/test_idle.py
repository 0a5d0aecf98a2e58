"""What a waiting attempt costs its host."""

import time
from pathlib import Path

import pytest

from bot.adapters.hosts.host import AgentHost
from runner.agent.identity import stat
from runner.protocol.files import read_json
from tests.hosting.attempts import shell


@pytest.mark.slow
def test_an_idle_attempt_takes_under_ten_megabytes_and_no_cpu(local: AgentHost) -> None:
    spec = shell("exec sleep 60")
    local.launch(spec, {})
    started = read_json(f"{local.settings.root}/attempts/{spec.attempt}/started.json")
    supervisor = started["supervisor"]["pid"]
    time.sleep(0.5)
    before = stat(supervisor)
    time.sleep(3.0)
    after = stat(supervisor)
    assert before is not None and after is not None
    assert after.cpu_ticks == before.cpu_ticks
    dirty = sum(private_dirty_bytes(pid) for pid in (supervisor, started["pid"]))
    assert dirty < 10 << 20
    local.kill(spec.attempt, spec.token, 0)


def private_dirty_bytes(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Private_Dirty"))
