"""One call of a Web API method, and the table that methods enter themselves into."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import Channel
from bot.workspace.workspace import Workspace

STRUCTURED: Final = ("blocks", "attachments", "metadata", "files")


@dataclass(frozen=True, kw_only=True)
class Call:
    workspace: Workspace
    args: Json

    def text(self, key: str) -> str | None:
        value = self.args.get(key)
        return None if value in (None, "") else str(value)

    def need(self, key: str) -> str:
        value = self.text(key)
        if value is None:
            raise Refusal("invalid_arguments", [f"missing required field: {key}"])
        return value

    def flag(self, key: str) -> bool:
        return str(self.args.get(key, "")).lower() in ("true", "1")

    def number(self, key: str, default: int, most: int) -> int:
        raw = self.text(key)
        if raw is None:
            return default
        if not raw.isdigit() or int(raw) == 0:
            raise Refusal("invalid_limit" if key == "limit" else "invalid_arguments")
        return min(int(raw), most)

    def channel(self) -> Channel:
        """The channel named, with the bot in it."""
        named = self.text("channel")
        if named is None:
            raise Refusal("channel_not_found")
        return self.workspace.roster.joined(named)


Method = Callable[[Call], Json]


@dataclass(frozen=True, kw_only=True)
class Entry:
    run: Method
    scope: str | None  # "history" and "read" mean channels:… or im:…, by the kind of channel
    token: str


METHODS: Final[dict[str, Entry]] = {}


def method(name: str, *, scope: str | None, token: str = "bot") -> Callable[[Method], Method]:
    def enter(run: Method) -> Method:
        METHODS[name] = Entry(run=run, scope=scope, token=token)
        return run

    return enter


async def read_args(request: web.Request) -> Json:
    """Arguments from the query, a form or JSON; structured ones may come as JSON text in any of them."""
    args: Json = dict(request.query)
    if request.method == "POST":
        if request.content_type == "application/json":
            body = await request.text()
            args.update(_read_json(body, "invalid_json") if body.strip() else {})
        else:
            args.update(await request.post())
    for key in STRUCTURED:
        if isinstance(args.get(key), str) and args[key]:
            error = {"blocks": "invalid_blocks_format", "metadata": "invalid_metadata_format"}
            try:
                args[key] = json.loads(args[key])
            except ValueError:
                raise Refusal(error.get(key, "invalid_arguments")) from None
    return args


def _read_json(body: str, error: str) -> Json:
    try:
        value = json.loads(body)
    except ValueError:
        raise Refusal(error) from None
    if not isinstance(value, dict):
        raise Refusal("json_not_object")
    return value
