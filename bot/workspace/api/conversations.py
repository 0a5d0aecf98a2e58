"""conversations.*: reading channels and threads, page by page."""

import base64
from typing import Any

from bot.workspace.api.call import Call, method
from bot.workspace.events import public_message
from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import BOT_USER, Channel


def _page(items: list[Any], call: Call, default: int, most: int) -> tuple[list[Any], str]:
    """(this page, next_cursor); cursors are opaque as Slack's and name the place, not the page size."""
    start = 0
    if cursor := call.text("cursor"):
        try:
            start = int(base64.b64decode(cursor, validate=True).removeprefix(b"next_ts:"))
        except ValueError:
            raise Refusal("invalid_cursor") from None
    end = start + call.number("limit", default, most)
    return items[start:end], base64.b64encode(b"next_ts:%d" % end).decode() if end < len(items) else ""


def _between(messages: list[Json], call: Call) -> list[Json]:
    oldest, latest = _moment(call, "oldest", 0.0), _moment(call, "latest", float("inf"))
    if call.flag("inclusive"):
        return [m for m in messages if oldest <= _us(m["ts"]) <= latest]
    return [m for m in messages if oldest < _us(m["ts"]) < latest]


def _moment(call: Call, key: str, default: float) -> float:
    raw = call.text(key)
    if raw is None:
        return default
    try:
        return _us(raw)
    except ValueError:
        raise Refusal(f"invalid_ts_{key}") from None


def _us(ts: str) -> float:
    seconds, _, fraction = ts.partition(".")
    return int(seconds) * 10**6 + int((fraction or "0").ljust(6, "0")[:6])


def _page_body(messages: list[Json], cursor: str, call: Call) -> Json:
    shown = [public_message(m, metadata=call.flag("include_all_metadata")) for m in messages]
    body: Json = {"messages": shown, "has_more": bool(cursor), "response_metadata": {"next_cursor": cursor}}
    return body


@method("conversations.history", scope="history")
def history(call: Call) -> Json:
    """Newest first; replies are left out, those also sent to the channel are not."""
    channel = call.channel()
    roots = _between(call.workspace.ledger.roots(channel.id), call)
    page, cursor = _page(roots[::-1], call, 100, 999)
    return {**_page_body(page, cursor, call), "pin_count": 0}


@method("conversations.replies", scope="history")
def replies(call: Call) -> Json:
    """The parent, then its replies, oldest first; with `oldest`, the parent comes all the same.

    Asked for a reply's ts, Slack answers with that reply alone.
    """
    channel, ts = call.channel(), call.need("ts")
    ledger = call.workspace.ledger
    parent = ledger.get(channel.id, ts)
    if parent is None:
        raise Refusal("thread_not_found")
    page, cursor = _page(_between(ledger.replies(channel.id, ts), call), call, 1000, 1000)
    first = [] if call.text("cursor") else [parent]
    return _page_body(first + page, cursor, call)


def _public(channel: Channel) -> Json:
    body: Json = {"id": channel.id, "is_im": bool(channel.direct), "is_archived": False, "is_private": False}
    if channel.direct:
        return {**body, "user": channel.direct}
    member = BOT_USER in channel.members
    topic = {"value": channel.topic, "creator": "", "last_set": 0}
    return {**body, "name": channel.name, "is_channel": True, "is_member": member, "topic": topic}


@method("conversations.info", scope="read")
def info(call: Call) -> Json:
    channel = call.workspace.roster.channel(call.text("channel") or "")
    return {"channel": {**_public(channel), "num_members": len(channel.members)}}


@method("conversations.list", scope="read")
def list_channels(call: Call) -> Json:
    kinds = (call.text("types") or "public_channel").split(",")
    wanted = {"public_channel": "channel", "im": "im"}
    if "im" in kinds and "im:read" not in call.workspace.roster.scopes:
        raise Refusal("missing_scope", needed="im:read")
    shown = [c for c in call.workspace.roster.channels.values() if c.kind in {wanted.get(k) for k in kinds}]
    page, cursor = _page([_public(c) for c in shown], call, 100, 999)
    return {"channels": page, "response_metadata": {"next_cursor": cursor}}


@method("conversations.members", scope="read")
def members(call: Call) -> Json:
    channel = call.workspace.roster.channel(call.text("channel") or "")
    page, cursor = _page(sorted(channel.members), call, 100, 999)
    return {"members": page, "response_metadata": {"next_cursor": cursor}}


@method("conversations.open", scope="im:write")
def open_conversation(call: Call) -> Json:
    users = call.text("users")
    if users is None:
        raise Refusal("users_list_not_supplied")
    if "," in users:
        raise Refusal("method_not_supported_for_channel_type")
    channel = call.workspace.roster.open_direct(users)
    call.workspace.keep(channel)
    return {"channel": {"id": channel.id}}
