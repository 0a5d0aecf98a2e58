"""Slack's payloads as inbound events; None for what nobody needs to act on."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bot.core.inbound import InboundEvent, storable

Payload = Mapping[str, Any]
SPOKEN = (None, "thread_broadcast", "file_share", "me_message", "bot_message")
_NEVER_STORED = ("token", "authorizations", "trigger_id")


def read_event(body: Payload) -> InboundEvent | None:
    """An Events API body. Unfurled links, joins and the like are None."""
    event, team = body["event"], str(body.get("team_id") or "")
    match event.get("type"):
        case "message" if event.get("subtype") == "message_changed":
            return _read_change(team, event, body)
        case "message" if event.get("subtype") == "message_deleted":
            return _read_deletion(team, event, event.get("previous_message") or {}, str(event["deleted_ts"]), body)
        case "message" | "app_mention":
            return read_message(team, str(event["channel"]), _channel_type(event), event, body)
        case "reaction_added" | "reaction_removed":
            return _read_reaction(team, event, body)
        case "app_home_opened":
            ts, channel = str(event["event_ts"]), str(event.get("channel") or "")
            return _event(
                body, kind="home", team=team, channel=channel, channel_type="im", user=event["user"], ts=ts, event_ts=ts
            )
    return None


def read_message(team: str, channel: str, channel_type: str, message: Payload, raw: Payload) -> InboundEvent | None:
    """A message as an event or in the history."""
    if message.get("subtype") not in SPOKEN:
        return None
    ts = str(message["ts"])
    return _event(
        raw,
        kind="message",
        team=team,
        channel=channel,
        channel_type=channel_type,
        user=str(message.get("user") or ""),
        bot_id=str(message.get("bot_id") or ""),
        text=str(message.get("text") or ""),
        ts=ts,
        thread_ts=_thread(message),
        event_ts=ts,
    )


def read_edit(
    team: str, channel: str, channel_type: str, message: Payload, raw: Payload, before: str = ""
) -> InboundEvent | None:
    """The latest edit of a message, None if it never was edited. `before` is "" when Slack does not tell."""
    edited = message.get("edited") or {}
    if not edited.get("ts") or message.get("subtype") not in SPOKEN:
        return None
    return _event(
        raw,
        kind="edit",
        team=team,
        channel=channel,
        channel_type=channel_type,
        user=str(edited.get("user") or message.get("user") or ""),
        bot_id=str(message.get("bot_id") or ""),
        text=str(message.get("text") or ""),
        previous_text=before,
        ts=str(message["ts"]),
        thread_ts=_thread(message),
        event_ts=str(edited["ts"]),
    )


def read_clicks(body: Payload) -> Iterator[InboundEvent]:
    """A block_actions body: one event for each button in it, in practice one."""
    container, message = body.get("container") or {}, body.get("message") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id") or ""
    for action in body.get("actions") or []:
        yield _event(
            body,
            kind="click",
            team=str((body.get("team") or {}).get("id") or ""),
            channel=str(channel),
            channel_type="im" if str(channel).startswith("D") else "",
            user=str((body.get("user") or {}).get("id") or ""),
            ts=str(container.get("message_ts") or message.get("ts") or ""),
            thread_ts=_thread(
                {"ts": container.get("message_ts"), "thread_ts": container.get("thread_ts") or message.get("thread_ts")}
            ),
            event_ts=str(action.get("action_ts") or ""),
            action=str(action.get("action_id") or "").partition(":")[0],
            value=str(action.get("value") or ""),
            response_url=str(body.get("response_url") or ""),
        )


def _read_change(team: str, event: Payload, body: Payload) -> InboundEvent | None:
    """Slack also "changes" messages when it unfurls a link, or to leave a tombstone for a deleted parent."""
    message, previous = event.get("message") or {}, event.get("previous_message") or {}
    if message.get("subtype") == "tombstone":
        return _read_deletion(team, event, previous, str(message["ts"]), body)
    if message.get("text") == previous.get("text"):
        return None
    return read_edit(team, str(event["channel"]), _channel_type(event), message, body, str(previous.get("text") or ""))


def _read_deletion(team: str, event: Payload, previous: Payload, ts: str, body: Payload) -> InboundEvent:
    return _event(
        body,
        kind="deletion",
        team=team,
        channel=str(event["channel"]),
        channel_type=_channel_type(event),
        user=str(previous.get("user") or ""),
        bot_id=str(previous.get("bot_id") or ""),
        text=str(previous.get("text") or ""),
        ts=ts,
        thread_ts=_thread({**previous, "ts": ts}),
        event_ts=str(event.get("event_ts") or event.get("ts") or ts),
    )


def _read_reaction(team: str, event: Payload, body: Payload) -> InboundEvent | None:
    item = event.get("item") or {}
    if item.get("type") != "message":
        return None
    channel = str(item["channel"])
    return _event(
        body,
        kind="reaction",
        team=team,
        channel=channel,
        channel_type="im" if channel.startswith("D") else "",
        user=str(event.get("user") or ""),
        reaction=str(event.get("reaction") or ""),
        added=event["type"] == "reaction_added",
        ts=str(item["ts"]),
        event_ts=str(event.get("event_ts") or item["ts"]),
    )


def _event(raw: Payload, **fields: Any) -> InboundEvent:
    kept = {k: v for k, v in raw.items() if k not in _NEVER_STORED}
    safe: dict[str, Any] = {k: storable(v) if isinstance(v, str) else v for k, v in fields.items()}
    return InboundEvent(raw=json.dumps(kept, separators=(",", ":")), **safe)


def _thread(message: Payload) -> str | None:
    """A parent carries its own ts as thread_ts once it has replies."""
    thread_ts = message.get("thread_ts")
    return str(thread_ts) if thread_ts and thread_ts != message.get("ts") else None


def _channel_type(event: Payload) -> str:
    """app_mention events do not say it."""
    told = event.get("channel_type")
    return str(told) if told else "im" if str(event.get("channel")).startswith("D") else "channel"
