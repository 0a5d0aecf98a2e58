"""Slack's payloads as inbound events: the odd ones."""

from typing import Any

import pytest

from bot.adapters.slack.payloads import read_clicks, read_event
from bot.core.inbound import InboundEvent, storable

MESSAGE = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "text": "go", "ts": "5.000001"}


def body(**event: Any) -> dict[str, Any]:
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "token": "x", "event": event}


def read(**event: Any) -> InboundEvent:
    heard = read_event(body(**event))
    assert heard is not None
    return heard


def test_an_unfurled_link_is_no_edit() -> None:
    message = {**MESSAGE, "attachments": [{}]}
    changed = {"type": "message", "subtype": "message_changed", "channel": "C1", "ts": "6.0"}
    assert read_event(body(**changed, message=message, previous_message=MESSAGE)) is None


def test_a_tombstone_is_a_deletion() -> None:
    tombstone = {"subtype": "tombstone", "ts": "5.000001", "text": "This message was deleted.", "user": "USLACKBOT"}
    changed = {"type": "message", "subtype": "message_changed", "channel": "C1", "channel_type": "channel"}
    heard = read(**changed, ts="6.0", event_ts="6.0", message=tombstone, previous_message=MESSAGE)
    assert (heard.kind, heard.ts, heard.user, heard.text) == ("deletion", "5.000001", "U1", "go")


def test_a_deletion_that_says_nothing_more() -> None:
    heard = read(type="message", subtype="message_deleted", channel="C1", deleted_ts="5.000001", ts="6.0")
    assert (heard.kind, heard.ts, heard.event_ts, heard.text) == ("deletion", "5.000001", "6.0", "")


def test_a_mention_is_the_message_it_is_in() -> None:
    mention = {k: v for k, v in MESSAGE.items() if k != "channel_type"} | {"type": "app_mention"}
    assert read(**mention).claim_key == read(**MESSAGE).claim_key
    assert read(**mention).channel_type == "channel"


@pytest.mark.parametrize("subtype", ["channel_join", "channel_topic", "message_replied", "reminder_add", "pinned_item"])
def test_what_nobody_said_is_passed_over(subtype: str) -> None:
    assert read_event(body(**MESSAGE, subtype=subtype)) is None


def test_another_bot_is_marked() -> None:
    heard = read(type="message", subtype="bot_message", channel="C1", ts="5.0", bot_id="B9", text="continue")
    assert (heard.bot_id, heard.user) == ("B9", "")


def test_a_parent_is_in_no_thread_and_a_reply_is() -> None:
    assert read(**MESSAGE, thread_ts="5.000001").thread_ts is None
    assert read(**MESSAGE, thread_ts="4.0").thread_ts == "4.0"
    assert read(**MESSAGE).thread == "5.000001"


def test_a_reaction_to_a_file_is_passed_over() -> None:
    assert read_event(body(type="reaction_added", user="U1", reaction="eyes", item={"type": "file"})) is None


def test_a_click_in_a_whisper_has_no_message() -> None:
    click = {
        "type": "block_actions",
        "team": {"id": "T1"},
        "user": {"id": "U1"},
        "channel": {"id": "C1"},
        "container": {"type": "message", "message_ts": "5.0", "channel_id": "C1", "is_ephemeral": True},
        "actions": [{"action_id": "confirm:2", "value": "[]", "action_ts": "7.0"}],
        "token": "x",
    }
    [heard] = read_clicks(click)
    assert (heard.ts, heard.event_ts, heard.action, heard.thread_ts) == ("5.0", "7.0", "confirm", None)
    assert '"token"' not in heard.raw


def test_claims_tell_deeds_apart_and_deliveries_not() -> None:
    reaction = {
        "type": "reaction_added",
        "user": "U1",
        "reaction": "eyes",
        "item": {"type": "message", "channel": "C1", "ts": "5.0"},
    }
    keys = [
        read(**MESSAGE).claim_key,
        read(**reaction, event_ts="6.0").claim_key,
        read(**{**reaction, "type": "reaction_removed"}, event_ts="6.0").claim_key,
        read(**{**reaction, "user": "U2"}, event_ts="6.0").claim_key,
        read(**reaction, event_ts="6.5").claim_key,
        read(type="app_home_opened", user="U1", channel="D1", event_ts="5.000001").claim_key,
    ]
    assert len(set(keys)) == len(keys)
    assert read_event({**body(**MESSAGE), "event_id": "Ev2"}).claim_key == keys[0]  # type: ignore[union-attr]


def test_stored_and_read_back() -> None:
    heard = read(**{**MESSAGE, "text": "a\udc00\x00"})
    assert heard.text == "a\ufffd\ufffd"
    assert InboundEvent.from_json(heard.as_json()) == heard
    assert heard.as_history().history and heard.as_history().claim_key == heard.claim_key


def test_whole_surrogate_pairs_are_joined() -> None:
    assert storable("\ud83d\ude00") == "😀"
