"""The HTTP server: Web API, Socket Mode, response URLs, files, control plane and page on one loopback port."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web

from bot.workspace import limits
from bot.workspace.content import read_content
from bot.workspace.control import Control
from bot.workspace.delivery import Connection, hello, too_many
from bot.workspace.gateway import Gateway
from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import APP, BOT_USER
from bot.workspace.workspace import Workspace

HOST: Final = "127.0.0.1"
PAGE: Final = Path(__file__).parent / "page"
PAGE_TYPES: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
CSP: Final = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def loopback_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuses what another site's script in a browser here could send: foreign Host, foreign Origin."""
    origin = request.headers.get("Origin")
    host = urlsplit(f"//{request.host}").hostname
    if host not in (HOST, "localhost") or (origin and urlsplit(origin).netloc != request.host):
        raise web.HTTPForbidden(text="only from this machine and this page")
    controls = request.path.startswith("/control/") and request.method == "POST"
    if controls and request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="application/json only")
    return await handler(request)


class Server:
    """Serves one workspace; made, started and stopped on its own event loop."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._runner: web.AppRunner | None = None
        self._listening: socket.socket | None = None

    async def start(self, port: int) -> str:
        app = web.Application(middlewares=[loopback_only], client_max_size=64 * 2**20)
        gateway = Gateway(self.workspace)
        app.router.add_route("*", "/api/{method}", gateway.handle)
        app.router.add_get("/link", self._link)
        app.router.add_post("/upload/v1/{file}", self._upload)
        app.router.add_get("/files/{file}", self._file)
        app.router.add_post("/actions/{token}", self._answer)
        app.router.add_routes(Control(self.workspace).routes())
        app.router.add_get("/", self._page)
        app.router.add_get("/page/{name}", self._page)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True)
        await self._runner.setup()
        self._listening = socket.create_server((HOST, port))
        await web.SockSite(self._runner, self._listening).start()
        self.workspace.base_url = f"http://{HOST}:{self._runner.addresses[0][1]}"
        self.workspace.sockets.start()
        return self.workspace.base_url

    async def stop(self) -> None:
        if self._listening is not None:
            # asyncio leaks a connection that it accepted and sets up while its server closes
            asyncio.get_running_loop().remove_reader(self._listening)
            await asyncio.sleep(0.01)
        self.workspace.changes.close()
        await self.workspace.sockets.stop()
        if self._runner is not None:
            await self._runner.cleanup()
        self.workspace.archive.close()

    async def _link(self, request: web.Request) -> web.StreamResponse:
        """The Socket Mode end of one connection."""
        sockets, faults = self.workspace.sockets, self.workspace.faults
        if faults.take("refuse_socket") or request.query.get("ticket") not in sockets.tickets:
            return web.Response(status=503)
        link = web.WebSocketResponse(autoping=False, max_msg_size=0, timeout=0.5)
        await link.prepare(request)
        if len(sockets.connections) >= limits.CONNECTIONS:
            await link.send_str(too_many(len(sockets.connections)))
            await link.close()
            return link
        connection = Connection(socket=link, transport=request.transport)
        await link.send_str(hello(len(sockets.connections) + 1, APP))
        sockets.connections.append(connection)
        sockets.counters["sockets_opened"] += 1
        self.workspace.changes.note("connections", count=len(sockets.connections))
        try:
            async for frame in link:
                if frame.type == WSMsgType.PING and not faults.take("no_pong"):
                    await link.pong(frame.data)
                elif frame.type == WSMsgType.TEXT:
                    sockets.accept(frame.data)
        finally:
            sockets.connections.remove(connection)
            self.workspace.changes.note("connections", count=len(sockets.connections))
        return link

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        try:
            self.workspace.files.receive(request.match_info["file"], body)
        except Refusal as refusal:
            return web.Response(status=400, text=refusal.error)
        return web.Response(text=f"OK - {len(body)}")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        try:
            file, body = self.workspace.files.body(request.match_info["file"])
        except Refusal:
            raise web.HTTPNotFound from None
        shown = file["mimetype"] in ("image/png", "image/jpeg", "image/gif", "image/webp")
        headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
        if not shown:
            headers["Content-Disposition"] = "attachment"
        kind = file["mimetype"] if shown else "application/octet-stream"
        return web.Response(body=body, content_type=kind, headers=headers)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            self.answer(request.match_info["token"], await request.json())
        except Refusal as refusal:
            status = 404 if refusal.error in ("expired_url", "used_url") else 400
            return web.json_response(refusal.body(), status=status)
        return web.Response(text="ok")

    def answer(self, token: str, body: Json) -> None:
        """What an app says through a click's response URL: to that person alone unless told otherwise."""
        workspace, click = self.workspace, self.workspace.answers.use(token)
        channel = workspace.roster.channel(click.channel)
        ephemeral = click.ts in workspace.ledger.ephemerals
        if body.get("delete_original"):
            if ephemeral:
                workspace.forget_whisper(click.ts)
            else:
                workspace.delete(channel, BOT_USER, click.ts)
            return
        content = read_content(body, workspace.rules)
        thread_ts = body.get("thread_ts") or click.thread_ts
        if body.get("replace_original") and not ephemeral:
            workspace.edit(channel, BOT_USER, click.ts, content, blocks_given=bool(content.blocks))
        elif body.get("response_type") == "in_channel":
            workspace.post(channel, BOT_USER, content, thread_ts=thread_ts)
        else:
            if body.get("replace_original"):
                workspace.forget_whisper(click.ts)
            workspace.whisper(channel, click.user, content, thread_ts)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        path = PAGE / request.match_info.get("name", "index.html")
        if path.suffix not in PAGE_TYPES or path.parent != PAGE or not path.is_file():
            raise web.HTTPNotFound
        headers = {"Content-Security-Policy": CSP, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return web.Response(
            body=path.read_bytes(), content_type=PAGE_TYPES[path.suffix], charset="utf-8", headers=headers
        )
