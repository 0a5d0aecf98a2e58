"""The payloads Slack sends to an app: Events API envelopes and button clicks. Pure."""

import time
import uuid
from typing import Any

from bot.workspace.refusal import Json
from bot.workspace.roster import APP, BOT_USER, TEAM, Channel, Person

_INTERNAL = {"metadata", "channel", "visible_to", "is_ephemeral"}


def public_message(message: Json, *, metadata: bool = False) -> Json:
    """A message as history and events show it; metadata only on request."""
    hidden = _INTERNAL - {"metadata"} if metadata else _INTERNAL
    return {k: v for k, v in message.items() if k not in hidden}


def message_event(message: Json, channel: Channel) -> Json:
    event = public_message(message)
    event.update(channel=channel.id, channel_type=channel.kind, event_ts=message["ts"])
    if message.get("files"):
        event.setdefault("subtype", "file_share")
    return event


def mention_event(message: Json, channel: Channel) -> Json:
    """The second event of a post that names the bot: same ts, another event_id, no channel_type."""
    event = {k: v for k, v in message_event(message, channel).items() if k not in ("channel_type", "subtype")}
    return {**event, "type": "app_mention"}


def changed_event(message: Json, before: Json, channel: Channel, event_ts: str) -> Json:
    return {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "message": public_message(message),
        "previous_message": public_message(before),
        "channel": channel.id,
        "channel_type": channel.kind,
        "ts": event_ts,
        "event_ts": event_ts,
    }


def deleted_event(before: Json, channel: Channel, event_ts: str) -> Json:
    return {
        "type": "message",
        "subtype": "message_deleted",
        "hidden": True,
        "deleted_ts": before["ts"],
        "previous_message": public_message(before),
        "channel": channel.id,
        "channel_type": channel.kind,
        "ts": event_ts,
        "event_ts": event_ts,
    }


def reaction_event(kind: str, user: str, name: str, message: Json, event_ts: str) -> Json:
    item = {"type": "message", "channel": message["channel"], "ts": message["ts"]}
    event = {"type": kind, "user": user, "reaction": name, "item": item}
    return {**event, "item_user": message["user"], "event_ts": event_ts}


def event_callback(event: Json) -> Json:
    """The `payload` of an events_api envelope."""
    authorization = {"enterprise_id": None, "team_id": TEAM, "user_id": BOT_USER}
    return {
        "token": "verification-token",
        "team_id": TEAM,
        "context_team_id": TEAM,
        "api_app_id": APP,
        "event": event,
        "type": "event_callback",
        "event_id": "Ev" + uuid.uuid4().hex[:10].upper(),
        "event_time": int(time.time()),
        "authorizations": [{**authorization, "is_bot": True, "is_enterprise_install": False}],
        "is_ext_shared_channel": False,
        "event_context": f"4-{event['type']}-{TEAM}",
    }


def block_actions(action: Json, message: Json, channel: Channel, person: Person, response_url: str) -> Json:
    """The `payload` of an interactive envelope: `person` pressed the button `action` of `message`."""
    user = {"id": person.id, "username": person.name, "name": person.name, "team_id": TEAM}
    container: dict[str, Any] = {"type": "message", "message_ts": message["ts"], "channel_id": channel.id}
    container["is_ephemeral"] = bool(message.get("is_ephemeral"))
    if message.get("thread_ts"):
        container["thread_ts"] = message["thread_ts"]
    payload: Json = {"type": "block_actions", "user": user, "api_app_id": APP, "token": "verification-token"}
    payload.update(container=container, trigger_id=f"{int(time.time() * 1000)}.{uuid.uuid4().hex[:12]}")
    payload.update(team={"id": TEAM, "domain": "local"}, enterprise=None, is_enterprise_install=False)
    payload.update(channel={"id": channel.id, "name": "directmessage" if channel.direct else channel.name})
    if not message.get("is_ephemeral"):
        payload["message"] = public_message(message)  # Slack leaves the message out for ephemeral ones
    payload.update(state={"values": {}}, response_url=response_url, actions=[action])
    return payload


def find_button(message: Json, action_id: str, value: str | None = None) -> Json | None:
    """The pressed element with its block_id, by action_id and, where several share it, by value."""
    for block in message.get("blocks") or []:
        elements = [*(block.get("elements") or []), *([block["accessory"]] if block.get("accessory") else [])]
        for element in elements:
            if element.get("action_id") == action_id and value in (None, element.get("value")):
                return {**element, "block_id": block["block_id"]}
    return None
