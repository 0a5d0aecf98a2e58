"""Where everything is tested, no test is left out for want of a tool."""

import os
import shutil

import pytest

from bot.adapters.hosts.embedded import find_sshd
from tests.hosting.clocks import library
from tests.hosting.postgres import programs


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("CI") != "true", reason="only where all tools are installed: ops/setup --full")
def test_the_tools_of_the_fault_tests_are_here() -> None:
    assert find_sshd() and library() and programs()
    assert all(map(shutil.which, ("ssh", "ip", "mkfs.ext4", "fsfreeze", "pgrep")))
    assert os.geteuid() == 0, "disks are mounted and networks made"
