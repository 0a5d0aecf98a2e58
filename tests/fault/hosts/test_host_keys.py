"""Host keys: only a trusted one is spoken to, and what is shown is said."""

import base64
import hashlib
from pathlib import Path

import paramiko
import pytest

from bot.adapters.hosts import hostkeys, open_host
from bot.adapters.hosts.trust import trust_host
from bot.errors import HostKeyChanged, HostUnreachable
from tests.hosting.sshd import Sshd

pytestmark = pytest.mark.sshd


def fingerprint(key_line: str) -> str:
    digest = hashlib.sha256(base64.b64decode(key_line.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def other_key() -> str:
    key = paramiko.ECDSAKey.generate()
    return f"{key.get_name()} {key.get_base64()}"


def test_a_changed_key_shows_both_fingerprints_and_sends_nothing(sshd: Sshd, tmp_path: Path) -> None:
    old = other_key()
    sshd.trust(old)
    host = open_host("box", sshd.settings("ssh", tmp_path / "root"))
    with pytest.raises(HostKeyChanged) as raised:
        host.poll([])
    assert fingerprint(old) in str(raised.value) and fingerprint(sshd.host_key_line()) in str(raised.value)
    assert "python -m bot trust box SHA256:" in str(raised.value)
    assert "Accepted" not in (sshd.state / "sshd.log").read_text()
    host.close()


def test_an_unknown_key_is_not_added(sshd: Sshd, tmp_path: Path) -> None:
    sshd.trust()
    for kind, error in (("ssh", HostKeyChanged), ("openssh", HostUnreachable)):
        host = open_host("box", sshd.settings(kind, tmp_path / "root"))
        with pytest.raises(error):
            host.poll([])
        host.close()
    assert (sshd.state / "known").read_text() == ""


def test_trust_replaces_the_old_key_by_the_one_that_was_named(sshd: Sshd, tmp_path: Path) -> None:
    settings = sshd.settings("ssh", tmp_path / "root")
    sshd.trust(other_key())
    with (sshd.state / "known").open("a") as file:
        file.write(f"@cert-authority * {other_key()}\nelsewhere,[127.0.0.1]:{sshd.port} {other_key()}\nnot a line\n")
    with pytest.raises(HostKeyChanged, match="not SHA256:wrong"):
        trust_host("box", settings, "SHA256:wrong")
    trust_host("box", settings, fingerprint(sshd.host_key_line()))
    host = open_host("box", settings)
    assert host.poll([]).facts.boot_id
    host.close()
    text = (sshd.state / "known").read_text()
    assert "@cert-authority" in text and "not a line" in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("elsewhere")] == ["elsewhere"]


def test_a_revoked_key_is_refused_though_it_is_trusted_too(sshd: Sshd, tmp_path: Path) -> None:
    with (sshd.state / "known").open("a") as file:
        file.write(f"@revoked * {sshd.host_key_line()}\n")
    host = open_host("box", sshd.settings("ssh", tmp_path / "root"))
    with pytest.raises(HostKeyChanged, match="revoked"):
        host.poll([])
    host.close()


def test_a_hashed_name_is_known(sshd: Sshd, tmp_path: Path) -> None:
    hashed = paramiko.HostKeys.hash_host(f"[127.0.0.1]:{sshd.port}")
    (sshd.state / "known").write_text(f"{hashed} {sshd.host_key_line()}\n")
    host = open_host("box", sshd.settings("ssh", tmp_path / "root"))
    assert host.poll([]).facts.boot_id
    host.close()


def test_a_key_that_the_host_does_not_accept_is_named(sshd: Sshd, tmp_path: Path) -> None:
    identity = tmp_path / "other_key"
    paramiko.ECDSAKey.generate().write_private_key_file(str(identity))
    host = open_host("box", sshd.settings("ssh", tmp_path / "root", identity=str(identity)))
    with pytest.raises(HostUnreachable, match=f"refused to let us in: keys shown: {identity}"):
        host.poll([])
    host.close()


def test_a_key_with_a_passphrase_says_so(sshd: Sshd, tmp_path: Path) -> None:
    identity = tmp_path / "locked_key"
    paramiko.ECDSAKey.generate().write_private_key_file(str(identity), password="pass")
    host = open_host("box", sshd.settings("ssh", tmp_path / "root", identity=str(identity)))
    with pytest.raises(HostUnreachable, match="has a passphrase, load it into an ssh-agent"):
        host.poll([])
    host.close()


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("box", "box", True),
        ("*.example", "box.example", True),
        ("[box]:2222", "[box]:2222", True),
        ("[box]:2222", "b:2222", False),
        ("box", "box2", False),
    ],
)
def test_names_of_known_hosts(pattern: str, name: str, fits: bool) -> None:
    assert hostkeys.matches(pattern, name) is fits
