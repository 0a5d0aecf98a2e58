"""A host inside this machine, behind a real sshd that has no port: `sshd -i` on one end of a socket pair.

Where no sshd is installed, a small server in Python on a loopback port stands in for it.
"""

import getpass
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import paramiko

from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.sockets import Stream, connect_process, connect_tcp
from bot.adapters.hosts.ssh import Dialer, Route
from bot.adapters.hosts.sshconfig import Destination
from bot.errors import ConfigError

_PLACES = os.pathsep.join(("/usr/sbin", "/usr/local/sbin", "/sbin", os.environ.get("PATH", "")))

_SSHD_CONFIG = """\
HostKey "{state}/host_key"
AuthorizedKeysFile "{state}/authorized_keys"
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
PrintLastLog no
UseDNS no
X11Forwarding no
MaxSessions 64
"""


def embedded_route(state: Path, sshd: str | None = None) -> Route:
    """`state` holds keys and configuration, made at the first use. `sshd`: its path, "" for none."""
    found = find_sshd() if sshd is None else sshd

    def route() -> tuple[Destination, Dialer]:
        prepare(state)
        dialer = sshd_dialer(state, found) if found else python_dialer(state)
        return destination_of(state), dialer

    return route


def find_sshd() -> str:
    """Its absolute path, which sshd insists on; "" where there is none."""
    return shutil.which("sshd", path=_PLACES) or ""


def name_of(state: Path) -> str:
    """A name of its own for each: connections are counted by it."""
    return f"embedded-{zlib.crc32(str(state).encode()):08x}"


def destination_of(state: Path) -> Destination:
    return Destination(
        hostname=name_of(state),
        port=22,
        user=getpass.getuser(),
        identities=(str(state / "client_key"),),
        use_agent=False,
        known_hosts=(str(state / "known_hosts"),),
    )


def prepare(state: Path) -> None:
    """Keys of both sides, and what names them. A repeat changes nothing."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not str(state).isprintable() or any(character in str(state) for character in '"%\\'):
        raise ConfigError(f"the folder of an embedded host's keys has a character that sshd cannot take: {state}")
    host_key = load_or_make(state / "host_key")
    client_key = load_or_make(state / "client_key")
    write(state / "known_hosts", f"{name_of(state)} {host_key.get_name()} {host_key.get_base64()}\n")
    write(state / "authorized_keys", f"{client_key.get_name()} {client_key.get_base64()}\n")
    write(state / "sshd_config", _SSHD_CONFIG.format(state=state))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd as root wants an empty folder to lock itself into


def load_or_make(path: Path) -> "paramiko.ECDSAKey":
    """A private key, readable by its owner alone."""
    if not path.exists():
        temp = path.with_name(f".{path.name}-{os.getpid()}")
        key = paramiko.ECDSAKey.generate()
        with os.fdopen(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            key.write_private_key(file)
        try:
            os.link(temp, path)  # whoever is first makes the key
        except FileExistsError:
            pass
        finally:
            temp.unlink()
    return paramiko.ECDSAKey.from_private_key_file(str(path))


def write(path: Path, text: str) -> None:
    if path.exists() and path.read_text() == text:
        return
    temp = path.with_name(f".{path.name}-{os.getpid()}")
    temp.write_text(text)
    temp.chmod(0o600)
    temp.replace(path)


def sshd_dialer(state: Path, sshd: str) -> Dialer:
    def dial(deadline: Deadline) -> Stream:
        return connect_process([sshd, "-i", "-f", str(state / "sshd_config"), "-E", str(state / "sshd.log")])

    return dial


def python_dialer(state: Path) -> Dialer:
    """One server process a connection; it ends with it."""

    def dial(deadline: Deadline) -> Stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.adapters.hosts.sshserver", str(state)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            cwd=Path(__file__).parents[3],
        )
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None and stdout is not None

        def end() -> None:
            process.kill()
            process.wait()
            stdin.close()
            stdout.close()

        try:
            with deadline.enforced(process.kill):
                port = stdout.readline()
            if not port:
                raise ConnectionError("the embedded ssh server did not start")
            stream = connect_tcp("127.0.0.1", int(port), deadline)
        except BaseException:
            end()
            raise
        stream.also(end)
        return stream

    return dial
