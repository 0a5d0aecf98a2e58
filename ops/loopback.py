"""For benchmarks: an sshd on a loopback port, and a TCP proxy that takes its time.

`python ops/loopback.py DELAY_S TARGET_PORT PORT ADDRESS...` is the proxy; it prints a line once it listens.
"""

import asyncio
import contextlib
import getpass
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from bot.adapters.hosts.embedded import find_sshd, prepare
from bot.adapters.hosts.settings import HostSettings


class LoopbackSshd:
    """Runs until `stop`; keys and configuration lie in `state`."""

    def __init__(self, state: Path, more: str, addresses: list[str]) -> None:
        """`addresses` of the loopback network: each is a server of its own for whoever connects. At most 16."""
        prepare(state)
        self.state, self.port = state, free_port()
        lines = "".join(f"ListenAddress {address}\n" for address in addresses) + f"Port {self.port}\n{more}\n"
        lines += "SetEnv SHLVL=1\n"  # bash then passes over the account's start-up files, which are nobody's figure
        config = state / "sshd_config.port"
        config.write_text((state / "sshd_config").read_text() + lines)
        key = " ".join((state / "known_hosts").read_text().split()[1:3])
        (state / "known").write_text(f"* {key}\n")
        argv = [find_sshd(), "-D", "-f", str(config), "-E", str(state / "sshd.log")]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
        give_up_s = time.monotonic() + 10
        while not answers(addresses[0], self.port):
            if time.monotonic() > give_up_s:
                raise SystemExit("sshd does not listen: " + (state / "sshd.log").read_text())
            time.sleep(0.02)

    def settings(self, root: Path, address: str, port: int | None = None) -> HostSettings:
        """A host at `address`, which leads here."""
        return HostSettings(
            kind="ssh",
            address=f"{getpass.getuser()}@{address}",
            port=port or self.port,
            root=str(root),
            python=os.path.realpath(sys.executable),  # not a shim of a version manager, which takes its own time
            identity=str(self.state / "client_key"),
            known_hosts=str(self.state / "known"),
            call_s=120.0,
        )

    def stop(self) -> None:
        done = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True)
        for pid in done.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        self.process.kill()
        self.process.wait()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def answers(address: str, port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex((address, port)) == 0


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Every byte arrives `delay_s` after it was read, whatever came before it."""
    loop = asyncio.get_running_loop()
    try:
        while data := await reader.read(1 << 16):
            loop.call_later(delay_s, writer.write, data)
    except OSError:
        pass
    loop.call_later(delay_s, writer.close)


async def serve(delay_s: float, target_port: int, port: int, addresses: list[str]) -> None:
    """What comes to an address of the proxy goes on to the same address and the target's port."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        far_reader, far_writer = await asyncio.open_connection(address, target_port)
        await asyncio.gather(pass_on(reader, far_writer, delay_s), pass_on(far_reader, writer, delay_s))

    server = await asyncio.start_server(connected, addresses, port)
    print("up", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
