"""What a waiting attempt costs its host."""

import time
from pathlib import Path

import pytest

from bot.adapters.hosts.host import AgentHost
from runner.agent.identity import Stat, stat
from runner.protocol.files import read_json
from tests.fault.hosts.conftest import OpenLocal
from tests.hosting.attempts import eventually, see, shell


@pytest.mark.slow
def test_an_idle_attempt_takes_under_ten_megabytes_and_no_cpu(local: AgentHost) -> None:
    spec = shell("exec sleep 60")
    local.launch(spec, {})
    started = read_json(f"{local.settings.root}/attempts/{spec.attempt}/started.json")
    supervisor = started["supervisor"]["pid"]
    before = at_rest(supervisor)
    time.sleep(3.0)
    after = stat(supervisor)
    assert after is not None
    assert after.cpu_ticks == before.cpu_ticks
    dirty = sum(private_dirty_bytes(pid) for pid in (supervisor, started["pid"]))
    assert dirty < 10 << 20
    local.kill(spec.attempt, spec.token, 0)


def at_rest(pid: int) -> Stat:
    """Once it has done all that it does when it starts."""

    def twice() -> tuple[Stat | None, Stat | None]:
        first = stat(pid)
        time.sleep(0.5)
        return first, stat(pid)

    _, now = eventually(twice, lambda seen: seen[0] and seen[1] and seen[0].cpu_ticks == seen[1].cpu_ticks)
    assert now is not None
    return now


def private_dirty_bytes(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Private_Dirty"))


@pytest.mark.slow
def test_what_tells_a_stuck_attempt_from_a_busy_one(open_local: OpenLocal) -> None:
    """CPU time of the whole tree, children and grandchildren too, and the age of the log."""
    busy = shell('sh -c "while :; do :; done" & while :; do sleep 0.2; echo at work; done', attempt="r1-train-1")
    stuck = shell("echo begun; exec sleep 60", attempt="r1-train-2")
    for spec in (busy, stuck):
        open_local().launch(spec, {})
    first = [see(open_local(), spec) for spec in (busy, stuck)]
    time.sleep(2.0)
    second = [see(open_local(), spec) for spec in (busy, stuck)]
    spent_s = [after.cpu_s - before.cpu_s for before, after in zip(first, second, strict=True)]  # type: ignore[operator]
    assert spent_s[0] > 0.1 and spent_s[1] < 0.03, spent_s
    ages_s = [view.log_age_s for view in second]
    assert ages_s[0] is not None and ages_s[1] is not None and ages_s[0] < 1.9 < ages_s[1], ages_s
    for spec in (busy, stuck):
        open_local().kill(spec.attempt, spec.token, 0)
