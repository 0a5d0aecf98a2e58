"""A real sshd on a loopback port, with keys of its own and, if wanted, a home folder of its own."""

import contextlib
import getpass
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from bot.adapters.hosts.embedded import find_sshd, prepare
from bot.adapters.hosts.settings import HostSettings

_EXTRA = """
ListenAddress {address}
Port {port}
PidFile {state}/sshd.pid
{more}
"""


class Sshd:
    """Runs until `stop`; `log` is what it says at level VERBOSE."""

    def __init__(self, state: Path, more: str = "", address: str = "127.0.0.1", inside: tuple[str, ...] = ()) -> None:
        """`inside` is put before the command: it leads into another network."""
        prepare(state)
        self.state = state
        self.address = address
        self.inside = inside
        self.port = free_port()
        config = (state / "sshd_config").read_text().replace("PidFile none\n", "")
        (state / "sshd_config.port").write_text(
            config + "LogLevel VERBOSE\n" + _EXTRA.format(address=address, port=self.port, state=state, more=more)
        )
        self.trust(self.host_key_line())
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        argv = [
            *self.inside,
            find_sshd(),
            "-D",
            "-f",
            str(self.state / "sshd_config.port"),
            "-E",
            str(self.state / "sshd.log"),
        ]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
        give_up_s = time.monotonic() + 10
        while time.monotonic() < give_up_s:
            with socket.socket() as sock:
                if sock.connect_ex((self.address, self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("sshd does not listen: " + (self.state / "sshd.log").read_text())

    def stop(self) -> None:
        if self.process is not None:
            for pid in self.sessions():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            self.process = None

    def sessions(self) -> list[int]:
        """Pids of the sshd processes that serve connections."""
        assert self.process is not None
        done = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in done.stdout.split()]

    def host_key_line(self) -> str:
        """`type base64` of its host key."""
        return " ".join((self.state / "known_hosts").read_text().split()[1:3])

    def trust(self, *key_lines: str) -> None:
        lines = [f"[{self.address}]:{self.port} {line}\n" for line in key_lines]
        (self.state / "known").write_text("".join(lines))

    def settings(self, kind: str, root: Path, **fields: object) -> HostSettings:
        given: dict[str, object] = {
            "kind": kind,
            "address": f"{getpass.getuser()}@{self.address}",
            "port": self.port,
            "root": str(root),
            "identity": str(self.state / "client_key"),
            "known_hosts": str(self.state / "known"),
        }
        return HostSettings(**(given | fields))  # type: ignore[arg-type]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
