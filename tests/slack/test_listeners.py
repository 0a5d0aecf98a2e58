"""What is heard is stored before it is acked, and once, however often it comes."""

import json
from typing import Any

import pytest

from bot.adapters.slack.listeners import SlackListener
from bot.adapters.slack.poster import SlackPoster
from bot.core.cards import Button, Buttons, Card, Text, say
from bot.core.inbound import InboundEvent
from bot.workspace import BOT_USER, DIRECT, OPERATOR, RUNS, ControlClient
from bot.workspace.roster import TEAM

from .conftest import Store

CARD = Card(
    fallback="gate",
    parts=(
        Text(text="gate"),
        Buttons(
            buttons=(
                Button(action="advance", label="Start", value='["r1",1,""]'),
                Button(action="advance", label="Start on box2", value='["r1",1,"box2"]'),
            )
        ),
    ),
)


def count(control: ControlClient, what: str) -> int:
    return int(control.counters()["deliveries"].get(what, 0))


pytestmark = pytest.mark.usefixtures("listener")


def test_a_message(control: ControlClient, store: Store) -> None:
    sent = control.post("extraction done, continue &amp; <@U0BEN>")
    event = store.wait_for(1)[0]
    assert (event.kind, event.team, event.channel, event.channel_type) == ("message", TEAM, RUNS, "channel")
    assert (event.user, event.ts, event.event_ts, event.thread_ts) == (OPERATOR, sent["ts"], sent["ts"], None)
    assert event.text == "extraction done, continue &amp; <@U0BEN>" and not event.history
    raw = json.loads(event.raw)
    assert raw["event"]["ts"] == sent["ts"] and "token" not in raw
    assert InboundEvent.from_json(event.as_json()) == event


def test_a_reply_and_a_direct_message(control: ControlClient, store: Store) -> None:
    parent = control.post("card")["ts"]
    control.post("hold", thread_ts=parent)
    control.post("status", channel=DIRECT)
    reply, direct = store.wait_for(3)[1:]
    assert reply.thread_ts == parent and reply.thread == parent
    assert direct.channel_type == "im" and direct.thread_ts is None


def test_the_bots_own_posts_and_edits_are_not_heard(poster: SlackPoster, control: ControlClient, store: Store) -> None:
    ts = poster.post("k", RUNS, None, say("card"))
    poster.edit(RUNS, ts, say("card 2"))
    poster.react(RUNS, ts, "eyes")
    control.post("last")
    assert [e.text for e in store.wait_for(1)] == ["last"]
    assert store.deliveries == 1


def test_message_and_mention_of_one_post_are_one(control: ControlClient, store: Store) -> None:
    control.post(f"<@{BOT_USER}> continue")
    store.wait(lambda: store.deliveries >= 2)
    assert [e.kind for e in store.events] == ["message"]


def test_an_edit_and_a_deletion(control: ControlClient, store: Store) -> None:
    ts = control.post("continue")["ts"]
    control.edit(ts, "don't continue")
    control.delete(ts)
    said, edited, deleted = store.wait_for(3)
    assert said.text == "continue"
    assert (edited.kind, edited.ts, edited.text, edited.previous_text) == ("edit", ts, "don't continue", "continue")
    assert edited.user == OPERATOR and edited.at > said.at
    assert (deleted.kind, deleted.ts, deleted.user, deleted.text) == ("deletion", ts, OPERATOR, "don't continue")


def test_two_edits_are_two(control: ControlClient, store: Store) -> None:
    ts = control.post("continue")["ts"]
    for text in ("wait", "continue"):
        control.edit(ts, text)
    events = store.wait_for(3)
    assert len({e.claim_key for e in events}) == 3


def test_four_clicks_are_four_and_each_is_acked(poster: SlackPoster, control: ControlClient, store: Store) -> None:
    parent = poster.post("r1", RUNS, None, say("card"))
    ts = poster.post("k", RUNS, parent, CARD)
    assert control.click(ts, "advance", times=4) == [True] * 4
    clicks = store.wait_for(4)
    assert {(e.kind, e.ts, e.thread_ts, e.user, e.action, e.value) for e in clicks} == {
        ("click", ts, parent, OPERATOR, "advance", '["r1",1,""]')
    }
    assert len({e.claim_key for e in clicks}) == 4 and clicks[0].response_url.startswith("http")


def test_a_second_button_of_an_action_reports_the_action(
    poster: SlackPoster, control: ControlClient, store: Store
) -> None:
    ts = poster.post("k", RUNS, None, CARD)
    control.click(ts, "advance:2")
    click = store.wait_for(1)[0]
    assert (click.action, click.value) == ("advance", '["r1",1,"box2"]')


def test_a_click_that_cannot_be_stored_is_shown_as_failed(
    poster: SlackPoster, control: ControlClient, store: Store
) -> None:
    ts = poster.post("k", RUNS, None, CARD)
    store.fails = 1
    control.send("settings", ack_timeout_s=0.3)
    assert control.click(ts, "advance") == [False]
    control.send("settings", ack_timeout_s=5.0)
    assert control.click(ts, "advance") == [True]


def test_reactions(control: ControlClient, store: Store) -> None:
    ts = control.post("go")["ts"]
    control.react(ts, "+1")
    control.react(ts, "+1", remove=True)
    added, removed = store.wait_for(3)[1:]
    assert (added.kind, added.reaction, added.ts, added.added) == ("reaction", "+1", ts, True)
    assert not removed.added and removed.claim_key != added.claim_key


def test_what_cannot_be_stored_comes_again_and_is_handled_once(
    control: ControlClient, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.fails = 2
    control.send("settings", ack_timeout_s=0.2)
    control.post("continue")
    store.wait(lambda: store.deliveries >= 3)
    control.wait(lambda: count(control, "acked") >= 1)
    assert [e.text for e in store.events] == ["continue"]
    assert "database is locked" in caplog.text


def test_a_lost_ack_is_delivered_again_and_handled_once(control: ControlClient, store: Store) -> None:
    control.fault("lose_ack")
    control.send("settings", ack_timeout_s=0.2)
    control.post("continue")
    store.wait(lambda: store.deliveries >= 2)
    assert len(store.events) == 1


def test_events_nobody_listens_to_are_acked(control: ControlClient, store: Store, listener: SlackListener) -> None:
    for kind in ("channel_rename", "message"):
        event = {"type": kind, "subtype": "channel_topic", "channel": RUNS, "user": OPERATOR, "ts": "1.1"}
        payload: dict[str, Any] = {"type": "event_callback", "team_id": TEAM, "event_id": "Ev1", "event": event}
        envelope = {"envelope_id": kind, "type": "events_api", "payload": payload, "accepts_response_payload": False}
        before = count(control, "acked")
        control.send("raw", text=json.dumps(envelope))
        control.wait(lambda before=before: count(control, "acked") + count(control, "late_acks") > before)
    assert store.deliveries == 0


@pytest.mark.parametrize("garbage", ["UNAUTHENTICATED: cache_error", "{not json", "null", '{"type":"newthing"}'])
def test_garbage_on_the_socket_is_survived(garbage: str, control: ControlClient, store: Store) -> None:
    control.send("raw", text=garbage)
    control.post("after")
    assert [e.text for e in store.wait_for(1)] == ["after"]


def test_half_a_surrogate_is_stored_readable(control: ControlClient, store: Store) -> None:
    event = {
        "type": "message",
        "channel": RUNS,
        "channel_type": "channel",
        "user": OPERATOR,
        "ts": "1.1",
        "text": "a\ud83d\x00b",
    }
    payload = {"type": "event_callback", "team_id": TEAM, "event_id": "Ev1", "event": event}
    control.send("raw", text=json.dumps({"envelope_id": "e", "type": "events_api", "payload": payload}))
    event_heard = store.wait_for(1)[0]
    assert event_heard.text == "a\ufffd\ufffdb"
    event_heard.as_json().encode()


def test_a_dropped_socket_comes_back_and_nothing_is_missed(
    control: ControlClient, store: Store, listener: SlackListener
) -> None:
    opened = count(control, "sockets_opened")
    control.send("settings", retry_delays_s=[0.2, 2.0, 10.0], ack_timeout_s=1.0)
    control.send("drop")
    control.post("said in the gap")
    control.wait(lambda: count(control, "sockets_opened") > opened and control.counters()["connections"] == 1)
    control.post("said after")
    assert sorted(e.text for e in store.wait_for(2)) == ["said after", "said in the gap"]
    control.wait(listener.healthy)


@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
def test_slack_moves_the_connection(reason: str, control: ControlClient, store: Store, listener: SlackListener) -> None:
    opened = count(control, "sockets_opened")
    control.send("settings", retry_delays_s=[0.2, 2.0, 10.0])  # as long as it may take to come back
    control.send("disconnect", reason=reason, close_after_s=0.2)
    for n in range(5):
        control.post(f"{n}")
    control.wait(lambda: count(control, "sockets_opened") > opened)
    assert sorted(e.text for e in store.wait_for(5)) == list("01234")


def test_order_of_arrival_is_kept(control: ControlClient, store: Store) -> None:
    store.slow_texts = {"continue": 0.1}
    sent = [control.post(text)["ts"] for text in ("continue", "wait", "status")]
    assert [e.ts for e in store.wait_for(3)] == sent
