"""Connecting, failing and closing leave no thread, no descriptor and no process behind."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from bot.adapters.hosts import HostSettings, open_host
from bot.adapters.hosts.shared import Shared
from bot.errors import HostError
from tests.hosting.attempts import eventually
from tests.hosting.sshd import Sshd, free_port

pytestmark = [pytest.mark.sshd, pytest.mark.slow]


def held() -> tuple[int, int, int]:
    children = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True).stdout.split()
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir())), len(children)


def test_nothing_is_left_behind(sshd: Sshd, tmp_path: Path) -> None:
    identity = tmp_path / "wrong_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(identity)], check=True)
    root = tmp_path / "root"
    kinds = {
        "good": sshd.settings("ssh", root),
        "wrong key": sshd.settings("ssh", root, identity=str(identity)),
        "nobody there": sshd.settings("ssh", root, port=free_port()),
        "no python": sshd.settings("ssh", root, python="/no/python"),
        "unknown host key": sshd.settings("ssh", root, known_hosts=str(tmp_path / "none")),
        "openssh": sshd.settings("openssh", root),
        "embedded": HostSettings(kind="embedded", root=str(root), state=str(tmp_path / "keys")),
        "local": HostSettings(kind="local", root=str(root)),
    }

    def once(settings: HostSettings) -> None:
        host = open_host("box", settings)
        try:
            host.poll([])
            host.fetch("/etc/hostname", 10)
        except HostError:
            pass
        host.close()

    for settings in kinds.values():
        once(settings)  # what is set up only once
    before = held()
    for settings in kinds.values():
        for _ in range(3):
            once(settings)
    eventually(held, lambda now: now[0] <= before[0] and now[1] <= before[1] and now[2] <= before[2], 10)


def test_connections_are_replaced_before_they_have_carried_too_much(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.adapters.hosts.shared.RECYCLE_BYTES", 200_000)
    host = open_host("box", sshd.settings("ssh", tmp_path / "root"))
    big = tmp_path / "big"
    big.write_bytes(os.urandom(150_000))
    seen: set[int] = set()
    for _ in range(6):
        host.poll([])
        shared: Shared = host.channels.link._shared  # type: ignore[attr-defined]
        seen.add(id(shared.connection))
        assert host.fetch(str(big), 1 << 20) == big.read_bytes()
    assert len(seen) >= 3
    assert len(sshd.sessions()) <= 2
    host.close()
    eventually(sshd.sessions, lambda pids: not pids)
