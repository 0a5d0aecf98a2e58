"""The pins are whole, agree with each other, with pyproject.toml and with the environment."""

import subprocess
import sys
import tomllib
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.tree import TOP

FILES = ("bot", "postgres", "runner", "sglang-cpu", "dev")
FILES_OF_EXTRA = {
    "bot": "bot",
    "workspace": "bot",
    "postgres": "postgres",
    "runner": "runner",
    "sglang": "sglang-cpu",
    "dev": "dev",
}


def pins(name: str) -> dict[str, str]:
    lines = (TOP / f"ops/requirements/{name}.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def extras() -> dict[str, list[str]]:
    document = tomllib.loads((TOP / "pyproject.toml").read_text())
    return dict(document["project"]["optional-dependencies"])


def test_every_extra_has_a_file() -> None:
    assert set(extras()) == set(FILES_OF_EXTRA)


@pytest.mark.parametrize("extra", FILES_OF_EXTRA)
def test_a_pin_is_what_pyproject_asks_for(extra: str) -> None:
    pinned = pins(FILES_OF_EXTRA[extra])
    for asked in map(Requirement, extras()[extra]):
        assert asked.specifier.contains(pinned[canonicalize_name(asked.name)]), asked


def test_files_agree_with_each_other() -> None:
    merged: dict[str, str] = {}
    for name in (*FILES, "gpu-host"):
        for package, pin in pins(name).items():
            assert merged.setdefault(package, pin) == pin, package


def test_the_environment_is_what_is_pinned() -> None:
    wrong = {
        package: (pin, version(package))
        for name in FILES
        for package, pin in pins(name).items()
        if version(package).partition("+")[0] != pin
    }
    assert not wrong


def test_nothing_below_a_pin_is_left_out() -> None:
    """ops/setup installs without looking at dependencies, so the files have to hold them all."""
    done = subprocess.run([sys.executable, TOP / "ops/pins.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
