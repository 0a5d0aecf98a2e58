"""The Web API through slack_sdk: what is kept, what comes back, and what Slack would refuse."""

from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.workspace import (
    APP_TOKEN,
    BOT_TOKEN,
    BOT_USER,
    DIRECT,
    GROUP,
    OPERATOR,
    RANDOM,
    RUNS,
    SECOND_OPERATOR,
    VIEWER,
    ControlClient,
)
from tests.workspace.gallery import button, mrkdwn


def refused(call: Any, **args: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        call(**args)
    return str(caught.value.response["error"])


def post(web: WebClient, text: str = "hello", **more: Any) -> str:
    return str(web.chat_postMessage(channel=RUNS, text=text, **more)["ts"])


def texts(messages: Any) -> list[str]:
    return [m["text"] for m in messages]


def test_auth_names_the_bot_and_its_scopes(web: WebClient) -> None:
    answer = web.auth_test()
    assert (answer["user_id"], answer["team_id"]) == (BOT_USER, "T0LOCAL")
    assert "chat:write" in answer.headers["x-oauth-scopes"].split(",")


def test_people_groups_and_channels(web: WebClient) -> None:
    assert web.users_info(user=OPERATOR)["user"]["profile"]["display_name"] == "ada"
    assert web.usergroups_users_list(usergroup=GROUP)["users"] == [OPERATOR, SECOND_OPERATOR]
    assert web.conversations_info(channel=RUNS)["channel"]["name"] == "ml-runs"
    assert VIEWER in web.conversations_members(channel=RUNS)["members"]
    assert web.conversations_open(users=OPERATOR)["channel"]["id"] == DIRECT
    assert web.conversations_open(users=VIEWER)["channel"]["id"] == "D0VERA"
    assert refused(web.users_info, user="U0NOBODY") == "user_not_found"
    assert refused(web.usergroups_users_list, usergroup="S0NONE") == "no_such_subteam"


def test_metadata_comes_back_only_when_asked_for(web: WebClient) -> None:
    metadata = {"event_type": "pointsman_post", "event_payload": {"key": "r1:gate:3"}}
    ts = post(web, metadata=metadata)
    reply = post(web, "reply", thread_ts=ts, metadata=metadata)
    assert "metadata" not in web.conversations_history(channel=RUNS)["messages"][0]
    with_it = web.conversations_history(channel=RUNS, include_all_metadata=True)["messages"][0]
    assert with_it["metadata"] == metadata
    replies = web.conversations_replies(channel=RUNS, ts=ts, include_all_metadata=True)["messages"]
    assert (replies[1]["ts"], replies[1]["metadata"]) == (reply, metadata)


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"event_type": "x"}, "invalid_metadata_schema"),
        ({"event_type": "x y", "event_payload": {}}, "invalid_metadata_schema"),
        ({"event_type": "x", "event_payload": {"a": {"b": {"c": {"d": 1}}}}}, "invalid_metadata_schema"),
        ({"event_type": "x", "event_payload": {"a": None}}, "invalid_metadata_schema"),
        ({"event_type": "x", "event_payload": {"a": "b" * 9_000}}, "metadata_too_large"),
        ("nonsense", "invalid_metadata_format"),
    ],
)
def test_metadata_of_another_shape_is_refused(web: WebClient, metadata: Any, error: str) -> None:
    assert refused(web.chat_postMessage, channel=RUNS, text="x", metadata=metadata) == error


def test_history_leaves_replies_out_but_not_broadcasts(web: WebClient, control: ControlClient) -> None:
    root = post(web, "root")
    reply = control.post("a reply", thread_ts=root)["ts"]
    assert texts(web.conversations_replies(channel=RUNS, ts=reply)["messages"]) == ["a reply"]
    post(web, "to everyone", thread_ts=root, reply_broadcast=True)
    messages = web.conversations_history(channel=RUNS)["messages"]
    assert texts(messages) == ["to everyone", "root"]
    assert messages[0]["subtype"] == "thread_broadcast"
    assert (messages[1]["reply_count"], messages[1]["reply_users"]) == (2, [OPERATOR, BOT_USER])
    assert texts(web.conversations_replies(channel=RUNS, ts=root)["messages"]) == ["root", "a reply", "to everyone"]


def test_history_and_replies_page_by_cursor(web: WebClient, control: ControlClient) -> None:
    root = post(web, "root")
    for i in range(5):
        control.post(f"r{i}", thread_ts=root)
        control.post(f"m{i}")
    seen: list[str] = []
    cursor = None
    while cursor != "":
        page = web.conversations_history(channel=RUNS, limit=2, cursor=cursor)
        seen += texts(page["messages"])
        cursor = page["response_metadata"]["next_cursor"]
        assert page["has_more"] == bool(cursor)
    assert seen == ["m4", "m3", "m2", "m1", "m0", "root"]
    first = web.conversations_replies(channel=RUNS, ts=root, limit=3)
    rest = web.conversations_replies(channel=RUNS, ts=root, limit=3, cursor=first["response_metadata"]["next_cursor"])
    assert texts(first["messages"]) + texts(rest["messages"]) == ["root", "r0", "r1", "r2", "r3", "r4"]
    assert refused(web.conversations_history, channel=RUNS, cursor="bogus!") == "invalid_cursor"


def test_catching_up_from_a_stored_moment(web: WebClient, control: ControlClient) -> None:
    old = control.post("old")["ts"]
    control.post("reply to old", thread_ts=old, silent=True)
    control.post("new", silent=True)
    assert texts(web.conversations_history(channel=RUNS, oldest=old)["messages"]) == ["new"]
    assert texts(web.conversations_history(channel=RUNS, oldest=old, inclusive=True)["messages"]) == ["new", "old"]
    # the parent comes along whatever the bounds
    assert texts(web.conversations_replies(channel=RUNS, ts=old, oldest=old)["messages"]) == ["old", "reply to old"]
    aged = control.post("two days old", age_s=172_800)["ts"]
    assert aged < old


def test_update_replaces_and_text_alone_deletes_the_blocks(web: WebClient) -> None:
    ts = post(web, "card", blocks=[mrkdwn("*card*")], metadata={"event_type": "e", "event_payload": {}})
    web.chat_update(channel=RUNS, ts=ts, text="card 2", blocks=[mrkdwn("two")])
    kept = web.conversations_history(channel=RUNS, include_all_metadata=True)["messages"][0]
    assert (kept["blocks"][0]["text"]["text"], kept["edited"]["user"]) == ("two", BOT_USER)
    assert kept["metadata"]["event_type"] == "e"
    web.chat_update(channel=RUNS, ts=ts, text="bare")
    bare = web.conversations_history(channel=RUNS)["messages"][0]
    assert ("blocks" in bare, bare["text"]) == (False, "bare")


def test_deleting_a_parent_leaves_a_tombstone(web: WebClient, control: ControlClient) -> None:
    root = post(web, "root")
    reply = control.post("stays", thread_ts=root)["ts"]
    web.chat_delete(channel=RUNS, ts=root)
    thread = web.conversations_replies(channel=RUNS, ts=root)["messages"]
    assert [m.get("subtype") for m in thread] == ["tombstone", None]
    assert refused(web.chat_delete, channel=RUNS, ts=root) == "message_not_found"
    control.delete(reply, user=OPERATOR)
    assert control.messages() == []


def test_what_slack_refuses_by_name(web: WebClient, control: ControlClient) -> None:
    mine = post(web)
    reply = post(web, "reply", thread_ts=mine)
    theirs = control.post("not yours")["ts"]
    say, change = web.chat_postMessage, web.chat_update
    assert refused(say, channel="C0NONE", text="x") == "channel_not_found"
    assert refused(say, channel=RANDOM, text="x") == "not_in_channel"
    empty = {"channel": RUNS, "text": ""}
    assert refused(web.api_call, api_method="chat.postMessage", json=empty) == "no_text"
    assert refused(say, channel=RUNS, text="x", thread_ts="1700000000.000000") == "thread_not_found"
    assert refused(say, channel=RUNS, text="x", thread_ts="0") == "invalid_thread_ts"
    assert refused(say, channel=RUNS, text="x", thread_ts=reply) == "cannot_reply_to_message"
    assert refused(change, channel=RUNS, ts=theirs, text="x") == "cant_update_message"
    assert refused(change, channel=RUNS, ts="1700000000.000000", text="x") == "message_not_found"
    assert refused(change, channel=RUNS, ts=mine, text="<" * 1_001) == "msg_too_long"  # 4 bytes each, escaped
    assert refused(web.chat_delete, channel=RUNS, ts=theirs) == "cant_delete_message"
    assert refused(web.conversations_replies, channel=RUNS, ts="1700000000.000000") == "thread_not_found"
    assert refused(web.conversations_history, channel=RANDOM) == "not_in_channel"
    assert refused(web.chat_postEphemeral, channel=RUNS, user="U0NOBODY", text="x") == "user_not_in_channel"
    assert refused(web.api_call, api_method="chat.frobnicate") == "unknown_method"


def test_reactions_once_each(web: WebClient) -> None:
    ts = post(web)
    web.reactions_add(channel=RUNS, timestamp=ts, name="eyes")
    assert refused(web.reactions_add, channel=RUNS, timestamp=ts, name="eyes") == "already_reacted"
    assert refused(web.reactions_add, channel=RUNS, timestamp=ts, name="no_such_emoji") == "invalid_name"
    web.reactions_remove(channel=RUNS, timestamp=ts, name="eyes")
    assert refused(web.reactions_remove, channel=RUNS, timestamp=ts, name="eyes") == "no_reaction"
    assert web.conversations_history(channel=RUNS)["messages"][0]["reactions"] == []


def test_tokens_and_scopes(control: ControlClient) -> None:
    def client(token: str | None) -> WebClient:
        return WebClient(token, base_url=control.api_url, retry_handlers=[])

    assert refused(client(None).auth_test) == "not_authed"
    assert refused(client("xoxb-other").auth_test) == "invalid_auth"
    assert refused(client(APP_TOKEN).chat_postMessage, channel=RUNS, text="x") == "not_allowed_token_type"
    assert refused(client(BOT_TOKEN).apps_connections_open, app_token=BOT_TOKEN) == "not_allowed_token_type"
    control.send("settings", scopes=["channels:history"])
    with pytest.raises(SlackApiError) as caught:
        client(BOT_TOKEN).chat_postMessage(channel=RUNS, text="x")
    assert caught.value.response["error"] == "missing_scope"
    assert caught.value.response["needed"] == "chat:write"
    control.send("settings", revoked=[BOT_TOKEN])
    assert refused(client(BOT_TOKEN).auth_test) == "token_revoked"


def test_text_is_kept_as_slack_keeps_it(web: WebClient) -> None:
    ts = post(web, "a < b && <@U0ADA> <https://x.y|z> &amp; <!date^1^{date}|d>")
    kept = web.conversations_history(channel=RUNS, oldest=ts, inclusive=True)["messages"][0]["text"]
    assert kept == "a &lt; b &amp;&amp; <@U0ADA> <https://x.y|z> &amp; <!date^1^{date}|d>"
    assert len(web.chat_postMessage(channel=RUNS, text="x" * 50_000)["message"]["text"]) == 40_000


def test_a_file_is_uploaded_shared_and_usable_in_a_block(web: WebClient, control: ControlClient) -> None:
    done = web.files_upload_v2(channel=RUNS, filename="loss.png", content=b"\x89PNG\r\n\x1a\nxx", title="loss")
    file = done["files"][0]
    shared = control.messages()[-1]
    assert (shared["files"][0]["id"], shared["files"][0]["mimetype"]) == (file["id"], "image/png")
    image = {"type": "image", "slack_file": {"id": file["id"]}, "alt_text": "loss"}
    post(web, "picture", blocks=[image])
    unknown = {**image, "slack_file": {"id": "F0NONE"}}
    assert refused(web.chat_postMessage, channel=RUNS, text="x", blocks=[unknown]) == "invalid_blocks"
    assert refused(web.files_completeUploadExternal, files=[{"id": "F0NONE"}]) == "file_not_found"


def test_an_ephemeral_message_is_one_persons_and_in_no_history(web: WebClient, control: ControlClient) -> None:
    web.chat_postEphemeral(channel=RUNS, user=VIEWER, text="only operators", blocks=[mrkdwn("no")])
    assert texts(control.ephemerals(VIEWER)) == ["only operators"]
    assert control.ephemerals(OPERATOR) == []
    assert web.conversations_history(channel=RUNS)["messages"] == []


def test_a_direct_message_by_the_persons_id(web: WebClient, control: ControlClient) -> None:
    assert web.chat_postMessage(channel=OPERATOR, text="psst")["channel"] == DIRECT
    web.chat_postMessage(
        channel="#ml-runs", text="by name", blocks=[{"type": "actions", "elements": [button("a", "b")]}]
    )
    assert texts(control.messages(DIRECT)) == ["psst"]
