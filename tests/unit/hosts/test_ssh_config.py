"""What `ssh -G` says, and what is made of it."""

import subprocess

import pytest

from bot.adapters.hosts import sshconfig
from bot.adapters.hosts.route import expand
from bot.adapters.hosts.settings import HostSettings
from bot.errors import ConfigError

SAID = """\
user ml
hostname box1.example
port 2222
identitiesonly yes
identityfile ~/.ssh/id_ed25519
identityfile ~/.ssh/other key
userknownhostsfile /home/ml/.ssh/known_hosts /home/ml/.ssh/known_hosts2
globalknownhostsfile /etc/ssh/ssh_known_hosts
proxyjump gate,ml@inner:2200
proxycommand none
"""


def test_what_openssh_says_is_read() -> None:
    found = sshconfig.parse(SAID)
    assert (found.user, found.hostname, found.port) == ("ml", "box1.example", 2222)
    assert found.identities == ("~/.ssh/id_ed25519", "~/.ssh/other key")
    assert found.identities_only and found.use_agent and found.agent_socket is None
    assert found.known_hosts[-1] == "/etc/ssh/ssh_known_hosts" and len(found.known_hosts) == 3
    assert found.jumps == ("gate", "ml@inner:2200") and found.proxy_command is None
    assert found.key_name == "[box1.example]:2222" and str(found) == "ml@box1.example:2222"


@pytest.mark.parametrize(
    ("line", "use", "path"), [("none", False, None), ("SSH_AUTH_SOCK", True, None), ("/run/agent", True, "/run/agent")]
)
def test_which_agent_is_asked(line: str, use: bool, path: str | None) -> None:
    found = sshconfig.parse(SAID + f"identityagent {line}\n")
    assert (found.use_agent, found.agent_socket) == (use, path)


def test_the_installed_openssh_is_understood() -> None:
    try:
        subprocess.run(["ssh", "-V"], capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("no ssh here")
    found = sshconfig.resolve(HostSettings(kind="ssh", address="me@192.0.2.1", port=2022, identity="/key"))
    assert (found.user, found.hostname, found.port) == ("me", "192.0.2.1", 2022)
    assert found.identities == ("/key",) and not found.use_agent and found.known_hosts


@pytest.mark.parametrize("address", ["", "-oProxyCommand=touch pwned"])
def test_an_address_that_is_an_option_is_refused(address: str) -> None:
    with pytest.raises(ConfigError):
        sshconfig.resolve(HostSettings(kind="ssh", address=address))


@pytest.mark.parametrize(
    ("jump", "address", "port"),
    [
        ("gate", "gate", None),
        ("ml@gate:2200", "ml@gate", 2200),
        ("ssh://ml@gate:22", "ml@gate", 22),
        ("ml@[2001:db8::1]:22", "ml@2001:db8::1", 22),
        ("2001:db8::1", "2001:db8::1", None),
    ],
)
def test_jumps(jump: str, address: str, port: int | None) -> None:
    assert sshconfig.jump_address(jump) == (address, port)


def test_tokens_of_a_proxy_command() -> None:
    assert expand("nc -X %% %h %p # %r %x", sshconfig.parse(SAID)) == "nc -X % box1.example 2222 # ml %x"
