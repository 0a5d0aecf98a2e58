"""What stages run in, and what is judged of it."""

from pathlib import Path
from typing import Any

import pydantic
import pytest

from bot.cli.host import judge_environment
from bot.config import HostConfig
from bot.core.pipeline import Pipeline, StageSpec
from bot.errors import ConfigError
from bot.service import environments
from runner import environment as on_host
from runner.protocol.view import Gpu, HostFacts
from tests.house.tree import TOP


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        ("~/venv/bin/python", "{home}/venv/bin/python"),
        ("python3", "python3"),
        ("/opt/py", "/opt/py"),
        (".venv/bin/p", "/co/.venv/bin/p"),
    ],
)
def test_whose_python_it_is(python: str, expected: str) -> None:
    host = HostConfig(kind="ssh", python=python)
    assert environments.interpreter(host, lambda name: Path("/co") / name) == expected
    assert environments.needs("box", host, Path) == {}


def test_an_environment_is_named_by_what_it_is_made_of(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("torch==2.9.1\n")
    host = HostConfig(kind="ssh", packages=["a.txt"])

    def path(name: str) -> Path:
        return tmp_path / name

    first = environments.environment(host, path)
    assert first is not None
    assert environments.interpreter(host, path) == f"{{root}}/env/{first.digest}/bin/python"
    assert environments.needs("box", host, path) == {
        f"{{root}}/env/{first.digest}/made.json": "its environment is not made yet: python -m bot host setup box"
    }
    (tmp_path / "a.txt").write_text("torch==2.9.2\n")
    second = environments.environment(host, path)
    other = environments.environment(HostConfig(kind="ssh", packages=["a.txt"], python="python3.12"), path)
    assert len({e.digest for e in (first, second, other) if e is not None}) == 3
    spec = environments.make_spec(first, "python3", "d1", 2)
    again = environments.make_spec(first, "python3", "d2", 2)
    assert spec.token == again.token, "two bots of different versions name the same attempt"


def test_a_list_that_names_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("numpy\n  -r more.txt\n")
    host = HostConfig(kind="ssh", packages=["a.txt", "none.txt"])
    with pytest.raises(ConfigError, match=r"a\.txt:2"):
        environments.environment(host, lambda name: tmp_path / name)
    with pytest.raises(ConfigError, match=r"none\.txt: cannot be read"):
        environments.environment(HostConfig(kind="ssh", packages=["none.txt"]), lambda name: tmp_path / name)


def test_a_container_and_packages_exclude_each_other() -> None:
    with pytest.raises(pydantic.ValidationError, match="exclude each other"):
        HostConfig(kind="ssh", packages=["a.txt"], container=["apptainer"])


def test_what_is_needed_depends_on_the_stages_of_the_host() -> None:
    stages = (
        StageSpec(id="own", title="own", host="a", command=("sh", "-c", "true")),
        StageSpec(id="vocab", title="vocab", host="b", verb="vocab"),
        StageSpec(id="train", title="train", host="c", command=("{python}", "-m", "torchrun", "-m", "runner", "train")),
        StageSpec(id="extract", title="extract", host="d", verb="extract"),
    )
    pipeline = Pipeline(name="p", title="p", names=(), stages=stages)
    wanted = {name: environments.packages([pipeline], name) for name in "abcd"}
    assert wanted["a"] == ()
    assert wanted["b"] == wanted["c"] == environments.RUNNER_PACKAGES
    assert wanted["d"] == (*environments.RUNNER_PACKAGES, "sglang")


def test_the_packages_are_those_of_the_project() -> None:
    import tomllib

    extras = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(environments.RUNNER_PACKAGES) == set(extras["runner"])
    assert extras["sglang"] == [f"sglang=={on_host.look([], [])['patches']['capture']}"]


GOOD: dict[str, Any] = {
    "python": "3.12.3",
    "executable": "/venv/bin/python",
    "packages": {"torch": "2.9.1", "sglang": "0.5.23"},
    "patches": {"capture": "0.5.23"},
    "torch": {"cuda": "12.8", "gpus": 2},
}


@pytest.mark.parametrize(
    ("changes", "what", "found", "remedy"),
    [
        ({}, "", "", ""),
        ({"python": "3.9.2"}, "stages' python", "3.9.2", "3.11 or later"),
        ({"packages": {"torch": None}}, "packages", "missing torch", "/venv/bin/python -m pip install torch"),
        (
            {"packages": {"sglang": "0.5.20"}},
            "patch capture",
            "SGLang 0.5.20, the patch knows 0.5.23",
            "sglang==0.5.23",
        ),
        ({"torch": {"cuda": "12.8", "gpus": 0}}, "torch", "sees 0 GPUs", "whose CUDA fits the driver"),
        ({"torch": {"cuda": None, "gpus": 0}}, "torch", "a CPU build", "nvidia-smi shows 2 GPUs"),
        ({"torch": {"error": "OSError: libcudnn"}}, "torch", "cannot be imported: OSError: libcudnn", "fits the host"),
    ],
)
def test_each_fault_is_named_with_its_remedy(changes: dict[str, Any], what: str, found: str, remedy: str) -> None:
    gpus = [Gpu(index, "H200", 0, 1, 0.0) for index in range(2)]
    facts = HostFacts("boot", "box", "now", 1, 1, 0.0, "3.11.2", gpus=gpus)
    findings = list(judge_environment("box", GOOD | changes, facts, made=False))
    faults = [each for each in findings if not each.ok]
    if not what:
        assert faults == [] and len(findings) == 4
        return
    [fault] = faults
    assert fault.what == f"host box {what}" and found in fault.found and remedy in fault.remedy


def test_a_package_missing_in_what_setup_makes_belongs_into_its_list() -> None:
    facts = HostFacts("boot", "box", "now", 1, 1, 0.0, "3.11.2")
    found = GOOD | {"packages": {"torch": None}}
    fault = next(each for each in judge_environment("box", found, facts, made=True) if not each.ok)
    assert fault.remedy == "add them to the lists in `packages`, then: python -m bot host setup box"
