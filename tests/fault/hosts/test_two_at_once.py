"""Two bots, or two agents, on one host at once do no harm."""

import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bot.adapters.hosts.host import AgentHost
from bot.errors import HostUnreachable, LaunchFailed
from runner.agent.crash import VARIABLE
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import CANCELLED, EXITED
from tests.contract.hosts.test_host_contract import archive
from tests.fault.hosts.conftest import OpenLocal
from tests.hosting.attempts import ended, see, shell


def at_once(calls: list[Callable[[], object]]) -> list[object]:
    found: list[object] = []
    threads = [threading.Thread(target=lambda c=call: found.append(c())) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_code_shipped_by_many_is_there_once_and_whole(open_local: OpenLocal) -> None:
    hosts = [open_local() for _ in range(4)]
    body = archive({f"file{n}": "x" * 1000 for n in range(50)})
    at_once([partial(host.ship, body, "digest") for host in hosts])
    spec = shell('ls "$CODE" | wc -l; ls -A "$CODE/.." | wc -l', code_digest="digest", env={"CODE": "{code}"})
    hosts[0].launch(spec, {})
    assert ended(hosts[0], spec).log_tail.split() == ["50", "1"]


def test_code_is_not_collected_under_a_launch(open_local: OpenLocal) -> None:
    """Either the launch finds the code and keeps it, or it is refused; nothing in between."""
    host, other = open_local(), open_local()
    for n in range(3):
        host.ship(archive({"x": "1"}), "digest")
        spec = shell('sleep 0.5; cat "$CODE/x"', attempt=f"r1-synth-{n}", code_digest="digest", env={"CODE": "{code}"})
        if True in at_once([partial(launched, other, spec), partial(host.gc, [])]):
            assert ended(host, spec).log_tail == "1"


def test_code_of_a_launch_that_was_broken_off_is_kept_for_a_while(open_local: OpenLocal) -> None:
    host, doomed = open_local(), open_local(**{VARIABLE: "agent.reserved"})
    host.ship(archive({"x": "1"}), "digest")
    spec = shell("true", code_digest="digest")
    with pytest.raises(HostUnreachable):
        doomed.launch(spec, {})
    assert host.gc([]) == []
    os.utime(Path(host.settings.root) / "attempts" / spec.attempt / "spec.json", (0, time.time() - 7200))
    assert host.gc([]) == ["digest"]


def launched(host: AgentHost, spec: AttemptSpec) -> bool:
    try:
        host.launch(spec, {})
        return True
    except LaunchFailed as error:
        assert error.kind == "no-code"
        return False


def test_launches_and_kills_that_race_end_in_one_of_two_ways(open_local: OpenLocal) -> None:
    one, other = open_local(), open_local()
    for n in range(4):
        spec = shell("sleep 0.2", attempt=f"r1-synth-{n}")
        at_once([partial(one.launch, spec, {}), partial(other.kill, spec.attempt, spec.token, 0.0)])
        view = ended(one, spec)
        assert view.state in (CANCELLED, EXITED)
        assert see(other, spec).state == view.state
        assert one.launch(spec, {}).state == view.state
