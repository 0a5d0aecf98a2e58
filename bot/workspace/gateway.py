"""The way into the Web API: tokens, scopes, rate limits, injected faults, then the method itself."""

import asyncio
import time
import uuid
from collections import defaultdict, deque

from aiohttp import web

from bot.workspace import limits
from bot.workspace.api import chat, conversations, files, people, reactions
from bot.workspace.api.call import METHODS, Call, Entry, read_args
from bot.workspace.faults import API_KINDS, Fault
from bot.workspace.refusal import Json, Refusal
from bot.workspace.workspace import Workspace

_MODULES = (chat, conversations, files, people, reactions)  # imported so that they enter METHODS


class Gateway:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._windows: dict[str, deque[float]] = defaultdict(deque)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["method"]
        self._workspace.calls[name] += 1
        try:
            fault = self._workspace.faults.take(API_KINDS, name)
            if fault is not None and (spoiled := await self._spoil(request, fault)):
                return spoiled
            args = await read_args(request)
            body = self._run(name, request, args)
            if fault is not None and fault.kind == "lost_reply":
                return _hang_up(request)
        except Refusal as refusal:
            return self._refuse(name, refusal)
        headers = {"x-oauth-scopes": ",".join(self._workspace.roster.scopes), "x-slack-req-id": uuid.uuid4().hex}
        return web.json_response({"ok": True, **body}, headers=headers)

    def _run(self, name: str, request: web.Request, args: Json) -> Json:
        entry = METHODS.get(name)
        if entry is None:
            raise Refusal("unknown_method", req_method=name)
        header = request.headers.get("Authorization", "")
        self._admit(header.removeprefix("Bearer ").strip() or str(args.get("token", "")), entry, args)
        self._limit(name, args)
        return entry.run(Call(workspace=self._workspace, args=args))

    def _admit(self, token: str, entry: Entry, args: Json) -> None:
        """Raises Refusal: not_authed, invalid_auth, token_revoked, not_allowed_token_type, missing_scope."""
        roster = self._workspace.roster
        if not token:
            raise Refusal("not_authed")
        if token in roster.revoked:
            raise Refusal("token_revoked")
        kind = roster.tokens.get(token)
        if kind is None:
            raise Refusal("invalid_auth")
        if kind != entry.token:
            raise Refusal("not_allowed_token_type")
        if kind == "bot" and entry.scope:
            wanted = self._scope(entry.scope, str(args.get("channel", "")))
            if wanted not in roster.scopes:
                raise Refusal("missing_scope", needed=wanted, provided=",".join(roster.scopes))

    def _scope(self, scope: str, named: str) -> str:
        if ":" in scope:
            return scope
        channel = self._workspace.roster.channels.get(named)
        return f"im:{scope}" if channel is not None and channel.direct else f"channels:{scope}"

    def _limit(self, name: str, args: Json) -> None:
        if not self._workspace.faults.enforce_rates:
            return
        post = name == "chat.postMessage"
        most, window_s = limits.CHANNEL_POSTS if post else limits.TIERS.get(name, (100, 60.0))
        window, now = self._windows[f"{name} {args.get('channel')}" if post else name], time.monotonic()
        while window and now - window[0] > window_s:
            window.popleft()
        if len(window) >= most:
            raise Refusal("ratelimited", retry_after_s=max(1, round(window[0] + window_s - now)))
        window.append(now)

    async def _spoil(self, request: web.Request, fault: Fault) -> web.StreamResponse | None:
        if fault.kind == "slow":
            await asyncio.sleep(fault.delay_s)
        if fault.kind == "http_500":
            return web.Response(status=500, text="internal error")
        if fault.kind == "http_html":
            return web.Response(status=502, text="<html>bad gateway</html>", content_type="text/html")
        if fault.kind == "lost_request":
            return _hang_up(request)
        if fault.kind == "ratelimited":
            raise Refusal("ratelimited", retry_after_s=fault.retry_after_s)
        if fault.kind == "error":
            raise Refusal(fault.error)
        return None

    def _refuse(self, name: str, refusal: Refusal) -> web.Response:
        self._workspace.refusals[f"{name} {refusal.error}"] += 1
        if refusal.error == "ratelimited":
            headers = {"Retry-After": str(refusal.extra["retry_after_s"])}
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
        return web.json_response(refusal.body())


def _hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
