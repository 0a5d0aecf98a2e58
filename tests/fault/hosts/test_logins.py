"""Logins that are not plain: start-up files that talk or dawdle, crowded doors, jumps, missing Pythons, full homes."""

import os
import threading
from pathlib import Path

import pytest

from bot.adapters.hosts import HostSettings, open_host
from bot.errors import HostUnreachable
from tests.fault.hosts.conftest import StartSshd
from tests.hosting.attempts import ended, shell
from tests.hosting.sshd import Sshd

pytestmark = pytest.mark.sshd


def talkative(tmp_path: Path, script: str) -> str:
    """sshd's configuration for a login that runs `script` before the command, as start-up files do."""
    path = tmp_path / "login.sh"
    path.write_text(f'{script}\nexec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n')
    return f'ForceCommand /bin/bash "{path}"'


def test_start_up_files_that_print_are_skipped(start_sshd: StartSshd, tmp_path: Path) -> None:
    noise = r"printf 'Welcome!\n\001POINTSMAN\n\000\377'; head -c 300000 /dev/zero; echo 'stty: error' >&2; sleep 1"
    running = start_sshd(talkative(tmp_path, noise))
    for kind in ("ssh", "openssh"):
        host = open_host("box", running.settings(kind, tmp_path / kind))
        spec = shell("echo quiet")
        host.launch(spec, {})
        assert ended(host, spec).log_tail == "quiet"
        host.close()


@pytest.mark.slow
def test_start_up_files_that_take_three_seconds(start_sshd: StartSshd, tmp_path: Path) -> None:
    running = start_sshd(talkative(tmp_path, "sleep 3"))
    host = open_host("box", running.settings("ssh", tmp_path / "root"))
    assert host.poll([]).facts.boot_id
    host.close()


@pytest.mark.slow
def test_start_up_files_that_end_the_session_are_quoted(start_sshd: StartSshd, tmp_path: Path) -> None:
    running = start_sshd(talkative(tmp_path, "echo 'This account is closed.'; exit 1"))
    for kind in ("ssh", "openssh"):
        host = open_host("box", running.settings(kind, tmp_path / "root"))
        with pytest.raises(HostUnreachable, match=r"it said: This account is closed\."):
            host.poll([])
        host.close()


def test_a_missing_python_is_named(sshd: Sshd, tmp_path: Path) -> None:
    host = open_host("box", sshd.settings("ssh", tmp_path / "root", python="~/no such/python3"))
    with pytest.raises(HostUnreachable, match=r"no such/python3: (No such file|not found)"):
        host.poll([])
    host.close()


def test_a_python_whose_path_needs_quoting(sshd: Sshd, tmp_path: Path) -> None:
    odd = tmp_path / "a 'b' $(touch pwned)"
    odd.write_text('#!/bin/sh\nexec python3 "$@"\n')
    odd.chmod(0o755)
    host = open_host("box", sshd.settings("ssh", tmp_path / "root", python=str(odd)))
    assert host.poll([]).facts.boot_id
    host.close()


@pytest.mark.slow
def test_a_crowded_door_is_tried_again(start_sshd: StartSshd, tmp_path: Path) -> None:
    """sshd drops whoever comes while four are logging in; each of ours gets in nevertheless."""
    running = start_sshd("MaxStartups 4:100:4")
    hosts = [open_host(f"box{n}", running.settings("ssh", tmp_path / "root", call_s=30.0)) for n in range(8)]
    seen: list[str] = []
    threads = [threading.Thread(target=lambda h=host: seen.append(h.poll([]).facts.boot_id)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    for host in hosts:
        host.close()


@pytest.mark.slow
def test_a_jump_through_another_host(
    sshd: Sshd, start_sshd: StartSshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beyond = start_sshd()
    config = tmp_path / "ssh_config"
    common = "User root\n  HostName 127.0.0.1\n  IdentitiesOnly yes\n"
    config.write_text(
        f'Host gate\n  {common}  Port {sshd.port}\n  IdentityFile "{sshd.state}/client_key"\n'
        f'  UserKnownHostsFile "{sshd.state}/known"\n'
        f'Host inner\n  {common}  Port {beyond.port}\n  IdentityFile "{beyond.state}/client_key"\n'
        f'  UserKnownHostsFile "{beyond.state}/known"\n  ProxyJump gate\n'
    )
    (tmp_path / "bin").mkdir()
    stub = tmp_path / "bin/ssh"
    stub.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {config} "$@"\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for kind in ("ssh", "openssh"):
        settings = HostSettings(kind=kind, address="inner", root=str(tmp_path / "root"))  # type: ignore[arg-type]
        host = open_host("inner", settings)
        assert host.poll([]).facts.boot_id
        host.close()
    assert "Accepted publickey" in (sshd.state / "sshd.log").read_text()
