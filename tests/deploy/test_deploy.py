"""Deploying a drafter: what is not benchmarked stays out, what disappoints is taken back, what is killed goes on."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from runner.bench import files
from runner.bench.draft import file_digest
from runner.bench.prompts import Prompt, write_prompts
from runner.deploy import release
from runner.deploy.options import DeployOptions
from runner.deploy.run import run
from runner.protocol.errors import DataError, ServerError
from runner.protocol.files import read_json, write_json
from runner.verify.deploy import check_deploy
from tests.bench.made import record
from tests.deploy.service import Service
from tests.hosting.processes import owned

PROMPTS = ("p1", "p2", "p3")
TOKENS = 13


def made_draft(folder: Path, weights: bytes) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"architectures": ["LlamaForCausalLMEagle3"]}')
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def made_bench(folder: Path, draft: Path, accepted: int, speedup: float = 1.4) -> Path:
    """A finished benchmark in which every verify step accepted so many drafts."""
    folder.mkdir(parents=True)
    write_prompts(folder / files.PROMPTS, [Prompt(id=name, input_ids=[1, 2, 3]) for name in PROMPTS])
    histogram = [0] * accepted + [4]
    rows = [record("drafted", name, list(range(TOKENS)), histogram=histogram) for name in PROMPTS]
    rows += [record("baseline", name, list(range(TOKENS))) for name in PROMPTS]
    (folder / files.RECORDS).write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    settings = {"steps": 3, "topk": 1, "algorithm": "EAGLE3", "concurrency": [1], "max_new_tokens": TOKENS}
    digest = file_digest(draft / "model.safetensors")
    body = {"stage": "bench", "settings": settings, "draft_digest": digest, "speedup": speedup, "breakeven": 1.9}
    write_json(str(folder / files.RESULT), body)
    return folder


class Floor:
    """Two drafters with their benchmarks, and a service: `first` is deployed and accepts 1 draft a step, `second` 2."""

    def __init__(self, root: Path) -> None:
        self.root, self.serving = root, root / "serving"
        self.drafts = {name: made_draft(root / name, name.encode()) for name in ("first", "second")}
        self.names = {name: release.release_name(draft) for name, draft in self.drafts.items()}
        self.benches = {
            "first": made_bench(root / "bench1", self.drafts["first"], 1),
            "second": made_bench(root / "bench2", self.drafts["second"], 2),
        }
        release.publish(self.drafts["first"], self.serving)
        release.switch(self.serving, self.names["first"])
        self.started = ExitStack()
        self.service = Service(self.serving, {self.names["first"]: 1, self.names["second"]: 2})

    def options(self, name: str = "second", **given: Any) -> DeployOptions:
        made = DeployOptions(
            draft=self.drafts[name],
            bench=self.benches[name],
            serving=self.serving,
            url=self.service.url,
            restart=self.service.command,
            out=self.root / f"out-{name}",
            restart_timeout_s=5.0,
            ready_timeout_s=5.0,
            request_timeout_s=5.0,
        )
        return replace(made, **given)

    def argv(self, options: DeployOptions) -> list[str]:
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in vars(options).items()]
        return [sys.executable, "-m", "runner", "deploy", *flags]


@pytest.fixture
def floor(tmp_path: Path) -> Iterator[Floor]:
    made = Floor(tmp_path)
    with made.service, made.started:
        yield made


def verdicts(out: Path) -> dict[str, bool | None]:
    return {check.name: check.ok for check in check_deploy(out)}


def test_a_drafter_that_does_in_service_as_it_was_measured_stays_and_is_proven(floor: Floor) -> None:
    options = floor.options()
    result = run(options)
    assert release.served(floor.serving) == floor.service.loaded == floor.names["second"]
    assert result["acceptance"] == result["benchmarked"] == 3.0 and result["former"] == floor.names["first"]
    assert floor.service.restarts == 1 and floor.service.asked == len(PROMPTS)
    assert read_json(str(options.out / files.RESULT))["stage"] == "deploy"
    found = verdicts(options.out)
    assert set(found) == {"published", "linked", "benchmarked", "acceptance", "live"} and set(found.values()) == {True}


def test_the_evidence_sees_what_happened_afterwards(floor: Floor) -> None:
    options = floor.options()
    run(options)
    release.switch(floor.serving, floor.names["first"])
    floor.service.restart()
    time.sleep(0.4)
    assert {name for name, ok in verdicts(options.out).items() if ok is False} == {"linked", "live"}
    release.switch(floor.serving, floor.names["second"])
    folder = floor.serving / "drafters" / floor.names["second"]
    (folder / "model.safetensors").write_bytes(b"another")
    assert {name for name, ok in verdicts(options.out).items() if ok is False} == {"published", "benchmarked"}
    (folder / "model.safetensors").write_bytes(b"second")
    floor.service.up_at_s = time.monotonic() + 60
    assert {name for name, ok in verdicts(options.out).items() if ok is False} == {"live"}
    lines = (options.out / files.RECORDS).read_text().splitlines()
    (options.out / files.RECORDS).write_text("\n".join(lines[:-1]))
    assert {name for name, ok in verdicts(options.out).items() if ok is False} == {"live", "acceptance"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"min_speedup": 1.5}, "1.40x"),
        ({"bench": "bench1"}, "measured the drafter"),
        ({"bench": "nowhere"}, "no finished benchmark"),
        ({"draft": "serving"}, "model.safetensors"),
    ],
)
def test_what_was_not_measured_or_does_not_pay_changes_nothing(floor: Floor, given: dict[str, Any], said: str) -> None:
    given = {name: floor.root / value if isinstance(value, str) else value for name, value in given.items()}
    with pytest.raises((DataError, FileNotFoundError), match=said):
        run(floor.options(**given))
    assert release.served(floor.serving) == floor.names["first"] and floor.service.restarts == 0


def test_a_drafter_that_made_serving_slower_is_refused_by_default(floor: Floor) -> None:
    slow = made_bench(floor.root / "slow", floor.drafts["second"], 0, speedup=0.66)
    with pytest.raises(DataError, match=r"0\.66x") as refused:
        run(floor.options(bench=slow))
    assert "acceptance length of 1.90" in str(refused.value.hint) and floor.service.restarts == 0


def test_a_benchmark_that_drafted_nothing_promises_nothing(floor: Floor) -> None:
    (floor.benches["second"] / files.RECORDS).write_text(json.dumps(asdict(record("baseline", "p1", [1]))) + "\n")
    floor.service.accepts[floor.names["second"]] = 0
    with pytest.raises(DataError, match="drafted nothing"):
        run(floor.options())
    assert floor.service.restarts == 0


def test_acceptance_that_falls_short_in_service_is_taken_back(floor: Floor) -> None:
    floor.service.accepts[floor.names["second"]] = 1  # 2.0 instead of 3.0
    with pytest.raises(ServerError, match=r"2\.000, the benchmark had 3\.000") as failed:
        run(floor.options())
    assert f"Taken back: {floor.names['first']} is served again" in failed.value.message
    assert release.served(floor.serving) == floor.service.loaded == floor.names["first"]
    assert floor.service.restarts == 2 and not (floor.root / "out-second" / files.RESULT).exists()


def test_a_service_with_other_draft_steps_than_were_benchmarked_is_taken_back(floor: Floor) -> None:
    floor.service.steps = 5
    with pytest.raises(ServerError, match=r"num_steps is 5, benchmarked was 3.*\n.*Taken back"):
        run(floor.options())
    assert floor.service.loaded == floor.names["first"]


def test_a_restart_that_fails_is_taken_back_and_says_when_that_fails_too(floor: Floor) -> None:
    floor.service.manager = "fails"
    with pytest.raises(ServerError, match="HTTP Error 500") as failed:
        run(floor.options())
    assert "IS NOT SERVED EITHER" in failed.value.message
    assert release.served(floor.serving) == floor.service.loaded == floor.names["first"]


def test_a_restart_that_changes_nothing_is_noticed(floor: Floor) -> None:
    floor.service.manager = "ignores"
    with pytest.raises(ServerError, match="is still the former one"):
        run(floor.options(ready_timeout_s=0.6))
    assert release.served(floor.serving) == floor.names["first"] and floor.service.asked == 0


@pytest.mark.parametrize(("manager", "mute"), [("stutters", 0), ("ignores", 1)])
def test_a_former_process_is_not_taken_for_a_new_one(floor: Floor, manager: str, mute: int) -> None:
    floor.service.manager, floor.service.mute = manager, mute
    floor.service.accepts[floor.names["first"]] = 2  # its answers would not give it away
    with pytest.raises(ServerError, match="is still the former one"):
        run(floor.options(ready_timeout_s=1.5))
    assert release.served(floor.serving) == floor.names["first"] and floor.service.asked == 0


def test_any_failure_behind_the_switch_takes_it_back(floor: Floor) -> None:
    options = floor.options()
    (options.out / "restart.log").mkdir(parents=True)
    with pytest.raises(ServerError, match=r"IsADirectoryError(.|\n)*IS NOT SERVED EITHER"):
        run(options)
    assert release.served(floor.serving) == floor.service.loaded == floor.names["first"]


def test_a_process_that_does_not_come_back_and_one_whose_restart_hangs(floor: Floor) -> None:
    floor.service.manager = "dies"
    with pytest.raises(ServerError, match="does not answer"):
        run(floor.options(ready_timeout_s=0.6))
    floor.service.up_at_s, floor.service.manager = 0.0, "hangs"
    with pytest.raises(ServerError, match=r"did not return within 0\.5 s"):
        run(floor.options(restart_timeout_s=0.5, ready_timeout_s=0.6))
    assert release.served(floor.serving) == floor.names["first"]


def test_a_first_drafter_has_nothing_to_go_back_to_and_that_is_said(floor: Floor) -> None:
    (floor.serving / "current").unlink()
    floor.service.accepts[floor.names["second"]] = 0
    with pytest.raises(ServerError, match="no former drafter to go back to"):
        run(floor.options())
    assert release.served(floor.serving) == floor.names["second"] and floor.service.restarts == 1


def test_one_deployment_at_a_time(floor: Floor) -> None:
    with release.alone(floor.serving), pytest.raises(DataError, match="another deployment"):
        run(floor.options())
    run(floor.options())


def test_links_and_releases_that_are_not_ours_are_left_alone(floor: Floor) -> None:
    folder = floor.serving / "drafters" / floor.names["second"]
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"half")
    with pytest.raises(DataError, match="is not the"):
        run(floor.options())
    (floor.serving / "current").unlink()
    (floor.serving / "current").symlink_to(floor.root)
    with pytest.raises(DataError, match="not published here"):
        run(floor.options())
    (floor.serving / "current").unlink()
    (floor.serving / "current").mkdir()
    with pytest.raises(DataError, match="is no link"):
        run(floor.options())
    assert floor.service.restarts == 0


def started(floor: Floor, options: DeployOptions) -> subprocess.Popen[bytes]:
    """The verb in a process of its own, behind the switch and inside the restart."""
    process = subprocess.Popen(floor.argv(options), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    floor.started.enter_context(owned(process))
    until_s = time.monotonic() + 30
    while release.served(floor.serving) != floor.names["second"]:
        assert time.monotonic() < until_s and process.poll() is None
        time.sleep(0.01)
    return process


def killed(floor: Floor, options: DeployOptions) -> None:
    """A deployment that was killed behind the switch; the service manager works again."""
    floor.service.manager = "hangs"
    process = started(floor, options)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    floor.service.manager = "works"


def test_killed_behind_the_switch_it_goes_on_and_still_knows_what_to_go_back_to(floor: Floor) -> None:
    killed(floor, floor.options())
    floor.service.accepts[floor.names["second"]] = 0
    with pytest.raises(ServerError, match=f"Taken back: {floor.names['first']}"):
        run(floor.options())
    floor.service.accepts[floor.names["second"]] = 2
    assert run(floor.options())["former"] == floor.names["first"]


def test_another_attempt_has_a_folder_of_its_own_and_still_goes_back_to_what_was_proven(floor: Floor) -> None:
    killed(floor, floor.options(out=floor.root / "deploy" / "1"))
    floor.service.accepts[floor.names["second"]] = 0
    with pytest.raises(ServerError, match=f"Taken back: {floor.names['first']}"):
        run(floor.options(out=floor.root / "deploy" / "2"))
    assert release.served(floor.serving) == floor.service.loaded == floor.names["first"]


def test_what_was_killed_before_it_was_proven_is_nothing_to_go_back_to(floor: Floor) -> None:
    killed(floor, floor.options())
    third = made_draft(floor.root / "third", b"third")
    floor.service.accepts[release.release_name(third)] = 0
    with pytest.raises(ServerError, match=f"Taken back: {floor.names['first']}"):
        run(floor.options(draft=third, bench=made_bench(floor.root / "bench3", third, 2), out=floor.root / "out-third"))
    assert release.served(floor.serving) == floor.service.loaded == floor.names["first"]


def test_what_was_proven_since_is_what_a_repeat_goes_back_to(floor: Floor) -> None:
    run(floor.options())
    third = made_draft(floor.root / "third", b"third")
    name = release.release_name(third)
    floor.service.accepts[name] = 2
    run(floor.options(draft=third, bench=made_bench(floor.root / "bench3", third, 2), out=floor.root / "out-third"))
    floor.service.accepts[floor.names["second"]] = 0
    with pytest.raises(ServerError, match=f"Taken back: {name}"):
        run(floor.options())
    assert release.served(floor.serving) == floor.service.loaded == name


def test_sigterm_behind_the_switch_takes_it_back(floor: Floor) -> None:
    floor.service.manager = "hangs"
    process = started(floor, floor.options(restart_timeout_s=30.0))
    threading.Timer(0.3, setattr, [floor.service, "manager", "works"]).start()
    time.sleep(0.5)
    process.terminate()
    said = process.communicate(timeout=20)[0].decode()
    assert process.returncode == 143 and f"{floor.names['first']} is being started again" in said
    assert release.served(floor.serving) == floor.service.loaded == floor.names["first"]
