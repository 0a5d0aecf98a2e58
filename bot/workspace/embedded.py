"""A workspace inside another program: served from a thread, stopped without leaving anything."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bot.workspace.client import ControlClient
from bot.workspace.server import Server
from bot.workspace.workspace import Workspace


@contextmanager
def running_workspace(port: int = 0, state: Path | None = None, **settings: Any) -> Iterator[ControlClient]:
    """A workspace served from a thread of its own while the block runs; `settings` are Workspace's.

    Yields a control client: its `api_url` is what a WebClient needs. Raises OSError if the port is taken.
    """
    started: Future[tuple[str, Callable[[], object]]] = Future()

    async def serve() -> None:
        loop, stopping = asyncio.get_running_loop(), asyncio.Event()
        server = Server(Workspace(state, **settings))
        try:
            url = await server.start(port)
            started.set_result((url, lambda: loop.call_soon_threadsafe(stopping.set)))
            await stopping.wait()
        except OSError as error:
            started.set_exception(error)
        finally:
            await server.stop()

    # asyncio.run also ends what is left of connections that came in while the server stopped
    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="workspace")
    thread.start()
    try:
        url, stop = started.result(30)
        try:
            yield ControlClient(url)
        finally:
            stop()
    finally:
        thread.join()
