"""Attempts as jobs of a real Slurm: once, told by token, unreachable without its controller, ended for certain."""

import contextlib
import dataclasses
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.adapters.hosts.host import AgentHost
from bot.adapters.hosts.local import LocalLink
from bot.adapters.hosts.slurm import SlurmHost
from bot.errors import HostError, HostUnreachable, LaunchFailed
from runner.agent.crash import SUBMIT_STEPS, VARIABLE
from runner.protocol.files import read_json, write_json
from runner.protocol.spec import AttemptSpec, SlurmTask
from runner.protocol.view import CANCELLED, EXITED, LOST, QUEUED, RUNNING, UNREACHABLE, AttemptView
from tests.hosting import attempts
from tests.hosting.attempts import AT_THE_GATE, eventually, see, shell
from tests.hosting.slurm import Slurm, why_not

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not())]
TOP = Path(__file__).parents[3]
COUNTED = 'echo started >> "$OUT/starts";'
WHOLE_NODE = "--exclusive"
PATIENCE_S = 90.0  # Slurm takes its time, and more on a machine that is busy
Open = Callable[..., AgentHost]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    running = Slurm(tmp_path_factory.mktemp("slurm"))
    yield running
    running.stop()


@pytest.fixture
def open_host(slurm: Slurm, tmp_path: Path) -> Iterator[Open]:
    """Opens the cluster; keyword arguments become environment variables of the agent."""
    opened: list[AgentHost] = []

    def open_one(**env: str) -> AgentHost:
        opened.append(SlurmHost("cluster", LocalLink(env), slurm.settings(tmp_path / "root")))
        return opened[-1]

    yield open_one
    for host in opened:
        host.close()
    slurm.clear()


@pytest.fixture
def host(open_host: Open) -> AgentHost:
    return open_host()


def job(slurm: Slurm, script: str, **task: object) -> AttemptSpec:
    """An attempt of a name that no other test's job has."""
    slurm.count = getattr(slurm, "count", 0) + 1  # type: ignore[attr-defined]
    spec = shell(f"{COUNTED} {script}", attempt=f"r1-synth-{slurm.count}", out="{root}/data")  # type: ignore[attr-defined]
    return dataclasses.replace(spec, slurm=SlurmTask(**task))  # type: ignore[arg-type]


def data(host: AgentHost) -> Path:
    return Path(host.settings.root) / "data"


def starts(host: AgentHost) -> int:
    path = data(host) / "starts"
    return len(path.read_text().splitlines()) if path.exists() else 0


def runs(host: AgentHost, spec: AttemptSpec) -> AttemptView:
    return eventually(lambda: see(host, spec), lambda view: view.state == RUNNING and view.pid, PATIENCE_S)


def ended(host: AgentHost, spec: AttemptSpec, within_s: float = PATIENCE_S) -> AttemptView:
    return attempts.ended(host, spec, within_s)


def insist(call: Callable[[], AttemptView]) -> AttemptView:
    """As the bot does: what Slurm did not answer is said again."""
    give_up_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call()
        except HostUnreachable:
            assert time.monotonic() < give_up_s
            time.sleep(1.0)


def launch(host: AgentHost, spec: AttemptSpec) -> AttemptView:
    return insist(lambda: host.launch(spec, {}))


def kill(host: AgentHost, spec: AttemptSpec, grace_s: float) -> AttemptView:
    return insist(lambda: host.kill(spec.attempt, spec.token, grace_s))


def test_eight_launches_at_once_give_one_job(slurm: Slurm, open_host: Open) -> None:
    spec, seen = job(slurm, f"{AT_THE_GATE} exit 5"), []

    def submit() -> None:
        seen.append(launch(open_host(), spec).state)

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(slurm.jobs(spec.token)) == 1
    host = open_host()
    eventually(lambda: starts(host), bool, PATIENCE_S)
    (data(host) / "go").touch()
    assert ended(host, spec).rc == 5
    assert (starts(host), len(slurm.jobs(spec.token))) == (1, 1)


@pytest.mark.parametrize("step", SUBMIT_STEPS)
def test_an_agent_killed_while_it_submits_never_leads_to_two_starts(slurm: Slurm, open_host: Open, step: str) -> None:
    spec = job(slurm, "exit 5")
    with contextlib.suppress(HostError):
        open_host(**{VARIABLE: step}).launch(spec, {})
    host = open_host()
    launch(host, spec)
    assert ended(host, spec).rc == 5
    assert (starts(host), len(slurm.jobs(spec.token))) == (1, 1)


def test_a_second_job_of_the_same_attempt_does_nothing(slurm: Slurm, host: AgentHost) -> None:
    """As when a submission is lost on the way, repeated, and the lost one arrives after all."""
    spec = job(slurm, f"{AT_THE_GATE} exit 5")
    launch(host, spec)
    runs(host, spec)
    attempt = Path(host.settings.root) / "attempts" / spec.attempt
    late = ["sbatch", f"--job-name={spec.token}", f"--output={attempt}/late", "--wrap"]
    slurm.ask(*late, f"exec python3 -I -S '{attempt}/job.py' '{attempt}'")
    said = attempt / "late"
    eventually(lambda: said.exists() and "does nothing" in said.read_text(), bool, PATIENCE_S)
    assert see(host, spec).state == RUNNING
    (data(host) / "go").touch()
    assert ended(host, spec).rc == 5
    assert starts(host) == 1


def test_a_controller_that_is_down_or_silent_is_unreachable_and_nothing_is_lost(slurm: Slurm, host: AgentHost) -> None:
    spec, other = job(slurm, f"{AT_THE_GATE} exit 5"), job(slurm, "exit 0")
    launch(host, spec)
    runs(host, spec)
    slurm.hang()
    time.sleep(2.1)  # the last answer is no longer fresh
    began_s = time.monotonic()
    view = see(host, spec)
    assert (view.state, time.monotonic() - began_s < 10) == (UNREACHABLE, True)
    slurm.hang(False)
    assert eventually(lambda: see(host, spec).state, lambda state: state == RUNNING)
    slurm.controller_down()
    try:
        view = eventually(lambda: see(host, spec), lambda view: view.state != RUNNING)
        assert view.state == UNREACHABLE and "Slurm" in view.why
        with pytest.raises(HostUnreachable, match="contact"):
            host.launch(other, {})
        with pytest.raises(HostUnreachable):
            host.kill(other.attempt, other.token, 1.0)
        (data(host) / "go").touch()
        assert ended(host, spec).rc == 5, "the record counts without the controller"
    finally:
        slurm.controller_up()
    kill(host, other, 0.0)
    assert launch(host, other).state == CANCELLED
    assert starts(host) == 1


@pytest.mark.parametrize("script", ["sleep 300", "trap 'exit 0' TERM; while :; do sleep 0.1; done"])
def test_a_preempted_job_is_not_done_even_if_it_ends_well(slurm: Slurm, host: AgentHost, script: str) -> None:
    spec = job(slurm, script, options=[WHOLE_NODE])
    launch(host, spec)
    runs(host, spec)
    eventually(lambda: starts(host), bool, PATIENCE_S)
    slurm.ask("sbatch", "--partition=urgent", WHOLE_NODE, "--output=/dev/null", "--wrap", "sleep 1")
    view = ended(host, spec)
    assert view.state == LOST
    assert "preempted" in view.why
    assert slurm.jobs(spec.token) == ["PREEMPTED"]
    assert see(host, spec).state == LOST


def test_a_number_that_slurm_gives_to_another_job_misleads_nobody(slurm: Slurm, host: AgentHost) -> None:
    spec = job(slurm, "sleep 300")
    launch(host, spec)
    runs(host, spec)
    stranger = slurm.ask("sbatch", "--parsable", "--job-name=stranger", "--output=/dev/null", "--wrap", "sleep 300")
    path = f"{host.settings.root}/attempts/{spec.attempt}/slurm.json"
    write_json(path, {**read_json(path), "job": stranger.strip()})
    assert kill(host, spec, 0.5).state == CANCELLED
    assert slurm.jobs("stranger", live=True), "it was not touched"
    assert see(host, spec).state == CANCELLED
    slurm.ask("scancel", "--name=stranger")


def test_a_job_that_waits_says_why_and_is_cancelled_without_a_start(slurm: Slurm, host: AgentHost) -> None:
    first, second = job(slurm, "sleep 300", options=[WHOLE_NODE]), job(slurm, "exit 0", options=[WHOLE_NODE])
    launch(host, first)
    runs(host, first)
    launch(host, second)
    view = eventually(lambda: see(host, second), lambda view: "resources" in view.why.lower(), PATIENCE_S)
    assert view.state == QUEUED
    assert kill(host, second, 1.0).state == CANCELLED
    assert launch(host, second).state == CANCELLED
    assert kill(host, first, 0.5).state == CANCELLED
    assert starts(host) == 1


def test_a_cancel_that_the_supervisor_does_not_hear_goes_on_to_kill(slurm: Slurm, host: AgentHost) -> None:
    spec = job(slurm, "trap '' TERM; while :; do sleep 1; done")
    launch(host, spec)
    runs(host, spec)
    started = read_json(f"{host.settings.root}/attempts/{spec.attempt}/started.json")
    os.kill(started["supervisor"]["pid"], signal.SIGSTOP)
    view = kill(host, spec, 0.5)
    assert (view.state, slurm.jobs(spec.token, live=True)) == (CANCELLED, [])
    assert not Path(f"/proc/{started['pid']}").exists()


def test_a_job_that_somebody_cancels_in_slurm_is_lost_and_says_so(slurm: Slurm, host: AgentHost) -> None:
    spec = job(slurm, "sleep 300")
    launch(host, spec)
    runs(host, spec)
    slurm.ask("scancel", "--full", "--signal=KILL", f"--name={spec.token}")
    slurm.ask("scancel", f"--name={spec.token}")
    view = ended(host, spec)
    assert view.state in (LOST, EXITED) and view.rc != 0
    assert "cancelled in Slurm, not by us" in view.why


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"partition": "nowhere"}, "invalid partition"),
        ({"gpus_per_node": 3}, "node configuration is not available"),
        ({"options": ["--constraint=never"]}, "feature"),
    ],
)
def test_what_slurm_refuses_is_refused_in_its_words(slurm: Slurm, host: AgentHost, task: dict, said: str) -> None:
    spec = job(slurm, "exit 0", **task)
    with pytest.raises(LaunchFailed, match=f"(?i){said}") as raised:
        host.launch(spec, {})
    assert raised.value.kind == "slurm-refused"
    good = dataclasses.replace(spec, slurm=SlurmTask(gpus_per_node=1))
    launch(host, good)
    assert ended(host, good).rc == 0


def test_torchrun_on_two_tasks_trains_a_step_together(slurm: Slurm, host: AgentHost, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from runner import vocab
    from tests.train import tiny

    target = tiny.write_target(tmp_path / "target")
    tiny.write_features(tmp_path / "features", tiny.make_samples(target, 12))
    made = ["--features", str(tmp_path / "features"), "--out", str(tmp_path / "vocab"), "--draft-vocab", "88"]
    assert vocab.main(made) == 0
    flags = tiny.flags(tiny.config(tmp_path, max_steps=2, packs_per_step=2))
    say = f'echo "$RANK of $WORLD_SIZE, task $SLURM_PROCID" >> {tmp_path}/ranks; exec "$0" -m runner train "$@"'
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=1", "--no-python"]
    torchrun += ["sh", "-c", say, sys.executable, *flags]
    slurm_task = SlurmTask(tasks_per_node=2, cpus_per_task=2, srun=True)
    spec = dataclasses.replace(
        job(slurm, "", tasks_per_node=2),
        argv=torchrun,
        cwd=str(TOP),
        env={"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        slurm=slurm_task,
    )
    launch(host, spec)
    view = ended(host, spec, within_s=180)
    assert (view.state, view.rc) == (EXITED, 0), view.log_tail
    result = read_json(str(tmp_path / "train/result.json"))
    assert result["steps"] == 2
    ranks = sorted((tmp_path / "ranks").read_text().splitlines())
    assert [line.partition(",")[0] for line in ranks] == ["0 of 2", "1 of 2"]
    assert sorted(line.rpartition(" ")[2] for line in ranks) == ["0", "1"], "one on each task"
