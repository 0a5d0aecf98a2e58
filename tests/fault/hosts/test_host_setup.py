"""`python -m bot host` and `trust` over a real sshd: interrupted, by two at once, and what is missing named."""

import contextlib
import io
import json
import os
import pwd
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bot.cli import host as host_verb
from bot.cli import trust as trust_verb
from bot.cli import wiring
from bot.config import load_config
from bot.errors import BotError, HostKeyChanged, LaunchFailed
from bot.service import environments
from runner.protocol.spec import AttemptSpec
from tests.contract.hosts.test_host_contract import archive
from tests.fault.hosts.test_host_keys import fingerprint
from tests.hosting.attempts import ended, eventually
from tests.hosting.sshd import Sshd

pytestmark = [pytest.mark.sshd, pytest.mark.slow]

PIPELINE = """\
version: 1
name: small
title: a small pipeline
host: box
vars: {{target: "{folder}/{model}"}}
stages:
  - {{id: work, title: work, command: [sh, -c, "true"]}}
"""


class Place:
    """A configuration with one host behind the sshd, and the commands as an operator calls them."""

    def __init__(self, folder: Path, sshd: Sshd) -> None:
        self.folder = folder
        self.sshd = sshd
        self.root = folder / "root"
        self.config = folder / "pointsman.yaml"
        (folder / "small.yaml").write_text(PIPELINE.format(folder=folder, model="packages.txt"))
        self.python = folder / "slow-python"
        self.python.write_text(
            f'#!/bin/sh\ncase "$*" in *"environment make"*) sleep "$(cat {folder}/pause)";; esac\n'
            f'exec {sys.executable} "$@"\n'
        )
        self.python.chmod(0o755)
        (folder / "pause").write_text("0")
        make_wheel(folder / "wheels")
        self.write()

    def write(self, packages: str = "probe==1.0", more: str = "") -> None:
        settings = self.sshd.settings("ssh", self.root)
        lists = ""
        if packages:
            (self.folder / "packages.txt").write_text(f"--no-index\n--find-links {self.folder}/wheels\n{packages}\n")
            lists = "    packages: [packages.txt]\n"
        self.config.write_text(
            "version: 1\nslack: {channel: C1}\npipelines: [small.yaml]\nhosts:\n  box:\n    kind: ssh\n"
            f"    address: {settings.address}\n    port: {settings.port}\n    root: {self.root}\n"
            f"    python: {self.python}\n    identity: {settings.identity}\n    known_hosts: {settings.known_hosts}\n"
            f"{lists}{more}"
        )

    def call(self, *words: str) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = host_verb.main([*words, "--config", str(self.config)])
        return code, said.getvalue()

    def findings(self, *words: str) -> dict[str, dict[str, Any]]:
        _, said = self.call(*words, "--json")
        return {finding["what"].removeprefix("host box").strip(): finding for finding in json.loads(said)["findings"]}

    def process(self, *words: str) -> subprocess.Popen[str]:
        """The command in a process of its own, to be killed."""
        argv = [sys.executable, "-m", "bot", "host", *words, "--config", str(self.config)]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def makes(self) -> list[Path]:
        """Attempts that made an environment, or tried to."""
        return sorted((self.root / "attempts").glob("host-environment-*"))


def make_wheel(folder: Path) -> None:
    folder.mkdir()
    info = "probe-1.0.dist-info"
    with zipfile.ZipFile(folder / "probe-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("probe.py", "ANSWER = 42\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def place(tmp_path: Path, sshd: Sshd) -> Place:
    return Place(tmp_path, sshd)


def test_setup_makes_what_stages_run_in_and_has_nothing_to_do_afterwards(place: Place) -> None:
    missing = place.findings("check", "box")["environment"]
    assert missing["ok"] is False and missing["remedy"] == "python -m bot host setup box"
    code, said = place.call("setup", "box")
    assert code == 0 and "making" in said and "FAIL" not in said
    code, said = place.call("setup", "box")
    assert code == 0 and "is there" in said and "making" not in said
    found = place.findings("check", "box")
    assert found["stages' python"]["ok"] is True and str(place.root / "env") in found["stages' python"]["found"]
    config = load_config(place.config)
    python = environments.interpreter(config.hosts["box"], config.path)
    box = wiring.connect(config, "box")
    argv = [python, "-c", "import probe; print(probe.ANSWER)"]
    spec = AttemptSpec(attempt="r1-work-1", run="r1", stage="work", token="t", argv=argv)
    box.launch(spec, {})
    assert ended(box, spec).log_tail == "42"
    box.close()


def test_a_bot_that_is_killed_leaves_the_work_to_the_next(place: Place) -> None:
    (place.folder / "pause").write_text("2")
    with place.process("setup", "box") as first:
        eventually(place.makes, bool, 60)
        first.kill()
        first.communicate()
    code, said = place.call("setup", "box")
    assert code == 0 and "making" in said
    assert len(place.makes()) == 1, "joined, not started again"


def test_a_make_that_is_killed_on_the_host_is_made_anew(place: Place) -> None:
    (place.folder / "pause").write_text("30")
    with place.process("setup", "box") as first:
        started = eventually(lambda: list((place.root / "attempts").glob("host-env*/started.json")), bool, 60)[0]
        half = place.root / "env" / place.makes()[0].name.split("-")[2].partition(".")[0]
        (half / "bin").mkdir(parents=True)
        (half / "bin/python").write_text("half a venv")
        os.killpg(json.loads(started.read_text())["pid"], signal.SIGKILL)
        said, _ = first.communicate(timeout=60)
    assert first.returncode == 1 and "could not be made" in said
    (place.folder / "pause").write_text("0")
    assert place.call("setup", "box")[0] == 0
    assert [path.name.rpartition(".")[2] for path in place.makes()] == ["1", "2"]


def test_two_bots_at_once_make_one_environment(place: Place) -> None:
    (place.folder / "pause").write_text("1")
    with place.process("setup", "box") as one, place.process("setup", "box") as other:
        told = [process.communicate(timeout=120)[0] for process in (one, other)]
    assert (one.returncode, other.returncode) == (0, 0), told
    logs = "".join((path / "log.txt").read_text() for path in place.makes())
    assert logs.count("making") == 1


def test_what_cannot_be_had_is_named_with_a_remedy(place: Place) -> None:
    place.write(packages="nowhere==9.9")
    with pytest.raises(LaunchFailed) as raised:
        place.call("setup", "box")
    assert "nowhere==9.9" in str(raised.value) and "not to be had from the host's pip sources" in str(raised.value)
    place.write(packages="", more="    container: [no-such-apptainer, exec, image.sif]\n")
    found = place.findings("check", "box")["environment"]
    assert found["ok"] is False and "no-such-apptainer" in found["found"]


def test_models_and_prompts_that_are_not_there_are_named(place: Place) -> None:
    place.write(packages="")
    (place.folder / "small.yaml").write_text(PIPELINE.format(folder=place.folder, model="packages.txt,{home}/no-model"))
    found = place.findings("check", "box")
    home = f"{pwd.getpwuid(os.getuid()).pw_dir}/no-model"  # where a login lands, whatever HOME says here
    assert found[f"file {place.folder}/packages.txt"]["ok"] is True
    missing = found[f"file {home}"]
    assert (missing["ok"], missing["found"]) == (False, "is not there")
    assert missing["remedy"] == f"put it there, or change vars.target of {place.folder}/small.yaml"


def test_a_container_prefix_comes_before_every_command(place: Place) -> None:
    place.write(packages="", more='    container: [env, "PATH={root}/bin:/usr/bin:/bin"]\n')
    (place.root / "bin").mkdir(parents=True)
    found = place.findings("check", "box")
    assert found["stages' python"]["ok"] is True


def test_gc_removes_what_nothing_uses(place: Place) -> None:
    place.call("setup", "box")
    box = wiring.connect(load_config(place.config), "box")
    box.ship(archive({"x": "1"}), "old")
    kept, left = (place.root / "env" / name for name in ("young", "left"))
    for path, age_days in ((kept, 1), (left, 30)):
        path.mkdir()
        (path / "made.json").write_text("{}")
        os.utime(path / "made.json", (0, time.time() - age_days * 86400))
    for path in (place.root / "attempts").glob("host-*/exit.json"):
        os.utime(path, (0, time.time() - 7200))
    code, said = place.call("gc", "box")
    removed = said.split()
    assert code == 0 and {"old", "env/left"} <= set(removed)
    assert sum(name.startswith("attempts/host-") for name in removed) == 2, "the make and the look"
    assert kept.exists() and not left.exists() and not place.makes()
    assert place.findings("check", "box")["stages' python"]["ok"] is True, "what is configured was kept"
    box.close()


def test_gc_leaves_what_is_being_made(place: Place) -> None:
    (place.folder / "pause").write_text("2")
    with place.process("setup", "box") as first:
        eventually(place.makes, bool, 60)
        place.write(packages="probe")  # another list: what the first makes is nobody's any more
        assert not [name for name in place.call("gc", "box")[1].split() if name.startswith("env/")]
        said, _ = first.communicate(timeout=60)
    assert first.returncode == 0, said


def test_a_host_is_trusted_by_the_fingerprint_that_was_compared(place: Place) -> None:
    right = fingerprint(place.sshd.host_key_line())
    place.sshd.trust()
    with pytest.raises(HostKeyChanged, match=re.escape(f"python -m bot trust box {right}")):
        place.call("check", "box")
    wrong = "SHA256:" + "A" * 43
    with pytest.raises(HostKeyChanged, match="Nothing was changed"):
        trust_verb.main(["box", wrong, "--config", str(place.config)])
    for bad in (["box", "SHA256:short"], ["nobody", right]):
        with pytest.raises(BotError):
            trust_verb.main([*bad, "--config", str(place.config)])
    assert (place.sshd.state / "known").read_text() == ""
    assert trust_verb.main(["box", right, "--config", str(place.config)]) == 0
    assert place.call("check", "box")[0] == 1, "trusted now, and not set up"
