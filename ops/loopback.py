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

    def __init__(self, state: Path, more: str) -> None:
        prepare(state)
        self.state, self.port = state, free_port()
        lines = f"ListenAddress 127.0.0.1\nPort {self.port}\n{more}\n"
        config = state / "sshd_config.port"
        config.write_text((state / "sshd_config").read_text() + lines)
        self.host_key_line = " ".join((state / "known_hosts").read_text().split()[1:3])
        argv = [find_sshd(), "-D", "-f", str(config), "-E", str(state / "sshd.log")]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
        give_up_s = time.monotonic() + 10
        while not answers(self.port):
            if time.monotonic() > give_up_s:
                raise SystemExit("sshd does not listen: " + (state / "sshd.log").read_text())
            time.sleep(0.02)

    def settings(self, root: Path, address: str = "127.0.0.1", port: int | None = None) -> HostSettings:
        """A host at `address`, which leads here."""
        at = port or self.port
        known = self.state / f"known-{address}-{at}"
        known.write_text(f"[{address}]:{at} {self.host_key_line}\n")
        return HostSettings(
            kind="ssh",
            address=f"{getpass.getuser()}@{address}",
            port=at,
            root=str(root),
            identity=str(self.state / "client_key"),
            known_hosts=str(known),
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


def answers(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


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
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target_port)
        await asyncio.gather(pass_on(reader, far_writer, delay_s), pass_on(far_reader, writer, delay_s))

    server = await asyncio.start_server(connected, addresses, port)
    print("up", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
