"""The agent as it travels."""

import ast
import subprocess
import sys
import zlib

import pytest

from bot.adapters.hosts.bundle import bundle, command, quote


def test_the_bundle_is_small_and_python_3_8() -> None:
    assert len(bundle()) < 48_000
    ast.parse(zlib.decompress(bundle()).decode(), feature_version=(3, 8))


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_command_runs_in_any_shell(shell: str) -> None:
    done = subprocess.run([shell, "-c", command(sys.executable)], input=bundle(), capture_output=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_channel_that_ends_too_early_ends_the_agent() -> None:
    done = subprocess.run(["sh", "-c", command(sys.executable)], input=bundle()[:100], capture_output=True, timeout=20)
    assert done.returncode == 3


def test_the_command_is_one_line_that_even_csh_takes() -> None:
    text = command("~/a b/python3")
    assert text.startswith("exec ~/'a b/python3' -I -S -c ")
    assert "\n" not in text and "!" not in text


@pytest.mark.parametrize(("path", "quoted"), [("python3", "python3"), ("~/x", "~/x"), ("/a'b", "'/a'\"'\"'b'")])
def test_quoting(path: str, quoted: str) -> None:
    assert quote(path) == quoted
