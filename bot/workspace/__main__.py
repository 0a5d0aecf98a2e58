"""Serves the embedded workspace until it is told to stop."""

import argparse
import asyncio
import signal
from pathlib import Path

from bot.workspace.roster import APP_TOKEN, BOT_TOKEN
from bot.workspace.server import Server
from bot.workspace.workspace import Workspace


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bot.workspace", description=__doc__)
    parser.add_argument("--port", type=int, default=4010, help="loopback port; 0 takes a free one")
    parser.add_argument("--state", type=Path, help="SQLite file that keeps the workspace over restarts")
    parser.add_argument("--no-rate-limits", action="store_true", help="never answer 429 by itself")
    args = parser.parse_args(argv)
    try:
        asyncio.run(_serve(args))
    except OSError as error:
        parser.exit(1, f"cannot serve on 127.0.0.1:{args.port}: {error}\n")
    return 0


async def _serve(args: argparse.Namespace) -> None:
    server = Server(Workspace(args.state, enforce_rates=not args.no_rate_limits))
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        url = await server.start(args.port)
        print(f"workspace {url}/  base_url {url}/api/  tokens {BOT_TOKEN} {APP_TOKEN}", flush=True)
        await stop.wait()
    finally:
        await server.stop()


if __name__ == "__main__":
    raise SystemExit(main())
