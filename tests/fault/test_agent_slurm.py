"""The agent before a Slurm of scripts: what it asks, and what it makes of every answer."""

import json
import time
from pathlib import Path

import pytest

from runner.agent.cancel import cancel
from runner.agent.refusal import Refused
from runner.agent.root import Root
from runner.agent.slurm import Cluster, clean, parse
from runner.agent.standing import State
from runner.agent.state import look
from runner.agent.submit import submit
from runner.protocol import view
from runner.protocol.spec import AttemptSpec, Limits, SlurmTask

NAME, TOKEN = "r1-train-1", "r1-train-1.t"
DOWN = "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1"


class Made:
    """A root, and commands of Slurm's names that say what a test wants."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, Root(str(folder / "root"))
        (folder / "bin").mkdir()
        self.jobs("")
        self.command("sbatch", 'printf "%s\\n" "$@" > "$0.said"; env > "$0.env"; echo 4711')
        self.command("scancel", 'echo "$@" >> "$0.said"')

    def command(self, name: str, script: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def jobs(self, *lines: str) -> None:
        self.command("squeue", "\n".join(f"echo '{line}'" for line in lines if line))

    def said(self, name: str = "sbatch") -> list[str]:
        path = self.folder / "bin" / f"{name}.said"
        return path.read_text().splitlines() if path.exists() else []

    def submit(self, **fields: object) -> None:
        spec = AttemptSpec(attempt=NAME, run="r1", stage="train", token=TOKEN, argv=["true"], **fields)  # type: ignore[arg-type]
        given = {"bin": str(self.folder / "bin"), "partition": "gpu", "options": ["--mem=1G"]}
        submit(self.root, spec, {}, {}, given, b"pass\n")

    def look(self) -> State:
        from runner.agent import slurm

        slurm._kept.clear()  # every look of these tests is a new one
        return look(self.root.attempt(NAME), TOKEN)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def line(state: str, id_: int = 4711, reason: str = "None", ended: str = "", name: str = TOKEN) -> str:
    return f"{id_}|{state}|{reason}|gpu|{ended}|{name}"


def test_a_job_is_submitted_once_with_everything_it_needs(made: Made) -> None:
    task = SlurmTask(nodes=2, tasks_per_node=4, cpus_per_task=8, gpus_per_node=8, srun=True, options=["--constraint=x"])
    made.submit(slurm=task, limits=Limits(wall_s=3600.0), alone=True)
    said = made.said()
    for option in (
        *("--no-requeue", f"--job-name={TOKEN}", "--nodes=2", "--ntasks-per-node=4", "--cpus-per-task=8"),
        *("--gres=gpu:8", "--partition=gpu", "--time=62", "--mem=1G", "--constraint=x", "--exclusive"),
    ):
        assert option in said
    job = json.loads(Path(made.root.attempt(NAME).job).read_text())
    assert job["argv"][0].endswith("/srun") and job["argv"][-2:] == ["--", "true"]
    (made.folder / "bin/sbatch.said").unlink()
    made.submit(slurm=task)
    assert made.said() == [], "not a second time"


def test_a_submission_without_an_answer_is_looked_for_before_another(made: Made) -> None:
    made.command("sbatch", "echo 'sbatch: error: Socket timed out on send/recv operation' >&2; exit 1")
    with pytest.raises(Refused) as raised:
        made.submit()
    assert raised.value.kind == "unreachable"
    made.command("squeue", DOWN)
    with pytest.raises(Refused) as raised:
        made.submit()
    assert raised.value.kind == "unreachable"
    assert made.look().name == view.UNREACHABLE
    made.jobs(line("PENDING", 77))
    made.command("sbatch", 'touch "$0.said"')
    made.submit()
    assert made.said() == [] and made.look().name == view.QUEUED


def test_what_slurm_refuses_leaves_nothing_behind(made: Made) -> None:
    made.command("sbatch", "echo 'sbatch: error: Batch job submission failed: Invalid qos' >&2; exit 1")
    with pytest.raises(Refused, match="Invalid qos") as raised:
        made.submit()
    assert raised.value.kind == "slurm-refused"
    assert made.look().name == view.ABSENT
    with pytest.raises(Refused) as raised:
        submit(made.root, AttemptSpec("a", "r", "s", "no name, this", ["true"]), {}, {}, {}, b"")
    assert raised.value.kind == "bad-spec"


def start(made: Made) -> None:
    record = {"version": 1, "token": TOKEN, "boot_id": "another node's", "pid": 1, "start_ticks": 1, "host": "n1"}
    supervisor = {"boot_id": "another node's", "pid": 1, "start_ticks": 1}
    Path(made.root.attempt(NAME).started).write_text(json.dumps({**record, "supervisor": supervisor}))


def finish(made: Made, rc: int = 0) -> None:
    record = {"version": 1, "rc": rc, "signal": None, "ended_at": "now", "by": "supervisor", "cause": ""}
    Path(made.root.attempt(NAME).exit).write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("started", "jobs", "name", "why"),
    [
        (False, [line("PENDING", reason="Resources")], view.QUEUED, "pending, Resources"),
        (False, [line("CONFIGURING")], view.STARTED, "configuring"),
        (True, [line("RUNNING")], view.RUNNING, ""),
        (True, [line("SUSPENDED")], view.RUNNING, "suspended"),
        (True, [line("SOMETHING_NEW"), line("RUNNING", 4712)], view.RUNNING, ""),
        (True, [line("PREEMPTED")], view.LOST, "preempted its job (job 4711)"),
        (True, [line("NODE_FAIL")], view.LOST, "a node of its job failed"),
        (True, [line("OUT_OF_MEMORY")], view.LOST, "out of memory"),
        (True, [line("COMPLETED", ended="1000")], view.LOST, "without a record"),
        (True, [line("RUNNING", name="stranger")], view.LOST, "does not know its job 4711 any more"),
        (False, [line("FAILED", reason="BadConstraints", ended="1000")], view.LOST, "BadConstraints"),
        (False, [], view.LOST, "does not know its job 4711 any more"),
    ],
)
def test_states_are_told_by_the_name_of_the_job(made: Made, started: bool, jobs: list, name: str, why: str) -> None:
    made.submit()
    if started:
        start(made)
    made.jobs(*jobs)
    found = made.look()
    assert (found.name, why in found.why) == (name, True), found
    made.jobs()
    if name == view.LOST and jobs and "stranger" not in jobs[0]:
        assert why in made.look().why, "it is remembered when the controller has forgotten it"


def test_a_job_that_has_just_ended_is_given_time_for_its_record(made: Made) -> None:
    made.submit()
    start(made)
    made.jobs(line("COMPLETED", ended=str(int(time.time()))))
    assert made.look().name == view.RUNNING
    finish(made, 5)
    assert (made.look().name, (made.look().ended or {})["rc"]) == (view.EXITED, 5)


def test_a_good_end_counts_once_the_job_is_over_and_not_if_it_was_preempted(made: Made) -> None:
    made.submit()
    start(made)
    finish(made)
    made.jobs(line("COMPLETING"))
    assert made.look().name == view.RUNNING
    made.jobs(line("PREEMPTED"))
    assert made.look().name == view.LOST
    made.jobs()
    assert made.look().name == view.LOST, "for good"


def test_the_record_counts_without_a_controller(made: Made) -> None:
    made.submit()
    start(made)
    made.command("squeue", DOWN)
    assert made.look().name == view.UNREACHABLE
    finish(made)
    assert made.look().name == view.EXITED


def test_a_controller_that_says_nothing_is_given_up_in_time(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    made.submit()
    monkeypatch.setattr("runner.agent.slurm.ASK_S", 0.2)
    made.command("squeue", "exec sleep 30")
    began_s = time.monotonic()
    assert made.look().name == view.UNREACHABLE
    assert time.monotonic() - began_s < 5


def test_a_cancel_goes_on_to_kill_and_names_what_is_left(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SUPERVISOR_S", "SLURM_S"):
        monkeypatch.setattr(f"runner.agent.jobs.{name}", 0.2)
    monkeypatch.setattr("runner.agent.jobs.AGAIN_S", 0.1)
    made.submit()
    start(made)
    made.jobs(line("RUNNING"))
    with pytest.raises(Refused, match="job 4711") as raised:
        cancel(made.root, NAME, TOKEN, 0.0)
    assert raised.value.kind == "still-running"
    said = "\n".join(made.said("scancel"))
    assert said.index("--state=PENDING") < said.index("--batch --signal=USR1") < said.index("--full --signal=KILL")
    assert all(f"--name={TOKEN}" in each and "4711" not in each for each in made.said("scancel"))
    made.jobs(line("CANCELLED"))
    assert cancel(made.root, NAME, TOKEN, 0.0) == []
    assert made.look().name == view.CANCELLED


def test_a_cancel_without_a_controller_is_kept_for_later(made: Made) -> None:
    made.submit()
    made.command("scancel", DOWN)
    made.command("squeue", DOWN)
    with pytest.raises(Refused) as raised:
        cancel(made.root, NAME, TOKEN, 0.0)
    assert raised.value.kind == "unreachable"
    assert Path(made.root.attempt(NAME).cancel).exists(), "whoever is at work finds the order"


def test_slurm_s_own_habits_do_not_reach_its_commands() -> None:
    env = clean({"SBATCH_REQUEUE": "1", "SLURM_JOB_ID": "9", "SLURM_CONF": "/etc/s.conf", "PATH": "/bin"}, "")
    assert env == {"SLURM_CONF": "/etc/s.conf", "PATH": "/bin", "SLURM_TIME_FORMAT": "%s"}
    assert clean({}, "/other")["SLURM_CONF"] == "/other"


def test_a_job_s_name_may_hold_anything() -> None:
    job = parse("1|CANCELLED by 0|None|gpu|1796100000|a|b c")
    assert (job.state, job.ended_s, job.name, job.live) == ("CANCELLED", 1796100000.0, "a|b c", False)


def test_partitions_are_told(made: Made) -> None:
    made.command("sinfo", "echo 'gpu|gpu*|up|2|64|gpu:8|1-00:00:00'")
    found = Cluster(str(made.folder / "bin")).partitions()[0]
    assert (found["name"], found["default"], found["state"], found["nodes"]) == ("gpu", True, "up", "2")
    assert (found["cpus"], found["gres"], found["time_limit"]) == ("64", "gpu:8", "1-00:00:00")
    with pytest.raises(Refused) as raised:
        Cluster("/nowhere").partitions()
    assert raised.value.kind == "no-slurm"
