"""However a launch is repeated, raced, cut off or killed: one token, at most one start."""

import contextlib
import os
import signal
import threading
from pathlib import Path

import pytest

from bot.adapters.hosts.channel import AgentChannel
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.host import AgentHost
from bot.errors import HostError
from runner.agent.crash import STEPS, SUBMIT_STEPS, VARIABLE
from runner.protocol.files import read_json
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import ABSENT, EXITED, LOST, RUNNING
from runner.protocol.wire import pack
from tests.fault.hosts.conftest import OpenLocal
from tests.hosting.attempts import AT_THE_GATE, ended, eventually, see, shell

COUNTED = 'echo started >> "$OUT/starts";'


def starts(host: AgentHost) -> int:
    path = Path(host.settings.root) / "data/starts"
    return len(path.read_text().splitlines()) if path.exists() else 0


def counted(rest: str = "exit 5") -> AttemptSpec:
    return shell(f"{COUNTED} {rest}", out="{root}/data")


def let_go(host: AgentHost) -> None:
    (Path(host.settings.root) / "data/go").touch()


def test_every_step_of_a_launch_is_named() -> None:
    sources = Path(__file__).parents[3] / "runner/agent"
    reached = [part.split('"')[0] for file in sources.glob("*.py") for part in file.read_text().split('reach("')[1:]]
    assert sorted(reached) == sorted(STEPS + SUBMIT_STEPS)


@pytest.mark.slow
def test_twenty_launches_at_once_start_one_process(open_either: OpenLocal) -> None:
    spec, pids, lock = counted(f"{AT_THE_GATE} exit 5"), [], threading.Lock()

    hosts = [open_either() for _ in range(5)]

    def launch(host: AgentHost) -> None:
        view = host.launch(spec, {})
        with lock:
            pids.append(view.pid)

    threads = [threading.Thread(target=launch, args=(hosts[n % 5],)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 20 and len(set(pids)) == 1
    host = open_either()
    let_go(host)
    assert ended(host, spec).rc == 5
    assert starts(host) == 1


@pytest.mark.parametrize("step", STEPS)
def test_a_death_at_any_step_never_leads_to_two_starts(open_either: OpenLocal, step: str) -> None:
    spec = counted()
    doomed = open_either(**{VARIABLE: step})
    with contextlib.suppress(HostError):
        doomed.launch(spec, {})
    host = open_either()
    before = eventually(lambda: see(host, spec), lambda view: view.state in (ABSENT, EXITED, LOST), 10)
    again = host.launch(spec, {})
    final = ended(host, spec)
    if before.state == ABSENT:
        assert (starts(host), final.state, final.rc) == (1, EXITED, 5)
    else:
        assert again.state == before.state == final.state
        assert starts(host) == (0 if step == "supervisor.started" else 1)
        assert final.rc == (None if final.state == LOST else 5)


def test_only_a_death_between_record_and_release_loses_an_attempt(open_either: OpenLocal) -> None:
    spec = counted()
    with pytest.raises(HostError):
        open_either(**{VARIABLE: "no such step"}).launch(shell("true", cwd="/nowhere"), {})
    open_either(**{VARIABLE: "supervisor.started"}).launch(spec, {})
    view = see(open_either(), spec)
    assert (view.state, view.why) == (LOST, "it ended without a record")


@pytest.mark.parametrize("when", ["during", "after"])
def test_a_launch_whose_answer_was_lost_is_repeated_in_vain(open_either: OpenLocal, when: str) -> None:
    host = open_either()
    spec = counted(f"{AT_THE_GATE} exit 5")
    channel = AgentChannel.open("here", host.channels.link, host.settings, Deadline(20))
    ask = {"op": "launch", "spec": spec.to_json()}
    channel.pipe.send(pack({**ask, "id": 2}), Deadline(20))
    eventually(lambda: see(host, spec).state, lambda state: state == RUNNING)
    channel.close()  # nobody hears the answer
    if when == "after":
        let_go(host)
        ended(host, spec)
    view = host.launch(spec, {})
    assert view.state == (RUNNING if when == "during" else EXITED)
    let_go(host)
    assert ended(host, spec).rc == 5
    assert starts(host) == 1


def test_the_agent_may_be_killed_while_attempts_run(open_local: OpenLocal) -> None:
    host = open_local()
    spec = counted(f"{AT_THE_GATE} exit 5")
    host.launch(spec, {})
    for channel in host.channels.idle:
        os.kill(channel.pipe.process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    assert see(host, spec).state == RUNNING  # by a new agent, without a word of trouble
    let_go(host)
    assert ended(host, spec).rc == 5


def test_a_supervisor_that_is_killed_loses_neither_process_nor_exit_code(open_local: OpenLocal) -> None:
    host = open_local()
    spec = counted(f"{AT_THE_GATE} exit 5")
    host.launch(spec, {})
    started = read_json(f"{host.settings.root}/attempts/{spec.attempt}/started.json")
    os.kill(started["supervisor"]["pid"], signal.SIGKILL)
    view = eventually(lambda: see(host, spec), lambda view: view.why != "")
    assert (view.state, view.why) == (RUNNING, "its supervisor is gone")
    assert host.launch(spec, {}).pid == started["pid"]
    let_go(host)
    view = ended(host, spec)
    assert (view.state, view.rc) == (EXITED, 5)
    assert starts(host) == 1
