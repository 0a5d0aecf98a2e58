"""An ssh server in Python for machines without sshd: `python -m bot.adapters.hosts.sshserver STATE`.

It prints its loopback port, runs commands by /bin/sh, and ends when its standard input is closed.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import asyncssh


async def run_command(process: "asyncssh.SSHServerProcess[bytes]") -> None:
    """By Popen, not asyncio's subprocess: that cuts long outputs short."""
    child = subprocess.Popen(
        ["/bin/sh", "-c", process.command or "exit 1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # asyncssh takes the end of one stream for the end of both
        start_new_session=True,
        cwd=Path.home(),
    )
    await process.redirect(stdin=child.stdin, stdout=child.stdout)
    rc = await asyncio.to_thread(child.wait)
    await process.stdout.drain()
    process.exit(rc if rc >= 0 else 128 - rc)


async def serve(state: Path) -> None:
    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[str(state / "host_key")],
        authorized_client_keys=str(state / "authorized_keys"),
        process_factory=run_command,
        encoding=None,
    )
    print(server.get_port(), flush=True)
    await asyncio.to_thread(os.read, 0, 1)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
