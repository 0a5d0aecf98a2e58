"""A real Bolt app over Socket Mode: events, acks, repeats, clicks."""

from slack_sdk import WebClient

from bot.workspace import BOT_USER, OPERATOR, RANDOM, RUNS, SECOND_OPERATOR, ControlClient
from tests.workspace.conftest import Recorder

BUTTONS = {
    "type": "actions",
    "block_id": "gate",
    "elements": [
        {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}, "value": "v7"},
    ],
}


def test_a_post_arrives_and_is_acked(control: ControlClient, bot: Recorder) -> None:
    sent = control.post("extraction done, continue")
    event = bot.wait(1)[0]["event"]
    assert (event["text"], event["user"], event["ts"]) == ("extraction done, continue", OPERATOR, sent["ts"])
    assert (event["channel"], event["channel_type"]) == (RUNS, "channel")
    control.wait(lambda: control.counters()["deliveries"].get("acked") == 1)


def test_a_mention_comes_twice_with_one_ts_and_two_event_ids(control: ControlClient, bot: Recorder) -> None:
    control.post(f"<@{BOT_USER}> status")
    first, second = bot.wait(2)
    assert {first["event"]["type"], second["event"]["type"]} == {"message", "app_mention"}
    assert first["event"]["ts"] == second["event"]["ts"]
    assert first["event_id"] != second["event_id"]


def test_no_event_from_a_channel_the_bot_is_not_in(control: ControlClient, bot: Recorder) -> None:
    control.post("hidden", channel=RANDOM)
    control.post("seen")
    bot.wait(1)
    assert [e["text"] for e in bot.events()] == ["seen"]


def test_an_unacked_event_comes_again_with_the_same_event_id(control: ControlClient, bot: Recorder) -> None:
    control.fault("lose_ack", times=2)
    control.send("settings", ack_timeout_s=1.0)
    control.post("again")
    bodies = bot.wait(3)
    assert len({b["event_id"] for b in bodies}) == 1
    assert bot.retries == ["0", "1", "2"]
    envelopes = control.look("envelopes")["envelopes"]
    assert len({e["envelope_id"] for e in envelopes}) == 3
    assert [e["retry_attempt"] for e in envelopes] == [0, 1, 2]


def test_click_is_acked_and_answered_to_the_clicker_alone(
    control: ControlClient, bot: Recorder, web: WebClient
) -> None:
    card = web.chat_postMessage(channel=RUNS, text="gate", blocks=[BUTTONS])
    assert control.click(card["ts"], "go", user=SECOND_OPERATOR) == [True]
    body = next(b for b in bot.wait(1) if b["type"] == "block_actions")
    assert body["user"]["id"] == SECOND_OPERATOR
    assert body["actions"][0]["value"] == "v7"
    assert body["actions"][0]["block_id"] == "gate"
    assert body["container"]["message_ts"] == card["ts"]
    seen = control.wait(lambda: control.ephemerals(SECOND_OPERATOR))
    assert [m["text"] for m in seen] == ["not you: v7"]
    assert control.ephemerals(OPERATOR) == []
