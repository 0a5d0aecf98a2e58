"""`... | head`: when nobody reads on, a command ends without a trace, and nothing else passes for that."""

import os
import subprocess
import sys

import pytest

from runner import __main__ as runner
from runner.protocol.output import until_unread
from tests.house.tree import TOP

COMMANDS = ["runner --help", "bot --help"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("buffered", [True, False], ids=["at its end", "at once"])
def test_a_command_that_nobody_reads_ends_quietly(command: str, buffered: bool) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        words = [sys.executable, *([] if buffered else ["-u"]), "-m", *command.split()]
        done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, cwd=TOP, check=False, timeout=60)
    finally:
        os.close(writing)
    assert (done.stderr.decode(), done.returncode) == ("", 141)


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> str:
    """A verb of the runner's that meets a broken pipe, whichever."""

    class Verb:
        @staticmethod
        def main(_: list[str]) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setitem(sys.modules, "runner.made_verb", Verb)
    monkeypatch.setitem(runner.VERBS, "made", ("runner.made_verb", "raises"))
    return "made"


def test_a_stage_whose_output_nobody_reads_writes_no_trace(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as unread:
        monkeypatch.setattr(sys, "stdout", unread)
        assert until_unread(runner.main, [verb]) == 141
    assert capsys.readouterr().err == ""


def test_another_pipe_that_breaks_is_a_failure(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A server's connection, a child's standard input: the stage failed, whoever reads its output."""
    assert until_unread(runner.main, [verb]) == 1
    assert "StageError: BrokenPipeError" in capsys.readouterr().err
