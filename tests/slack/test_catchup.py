"""What was said while the bot was away is found, marked as old, and told apart from what was handled."""

import time
from collections.abc import Iterator

import pytest

from bot.adapters.slack.call import Caller
from bot.adapters.slack.catchup import catch_up, catch_up_direct
from bot.adapters.slack.identity import Identity, identify
from bot.adapters.slack.listeners import open_app
from bot.adapters.slack.poster import SlackPoster
from bot.adapters.slack.web import open_client
from bot.core.cards import say
from bot.core.inbound import InboundEvent
from bot.errors import ChatUnavailable
from bot.workspace import APP_TOKEN, BOT_TOKEN, DIRECT, OPERATOR, RUNS, VIEWER, ControlClient

from .conftest import Store


@pytest.fixture
def identity(call: Caller) -> Identity:
    return identify(call)


def told(events: list[InboundEvent]) -> list[tuple[str, str]]:
    return [(e.kind, e.text) for e in events]


def test_roots_and_replies_of_open_and_new_threads(
    call: Caller, identity: Identity, poster: SlackPoster, control: ControlClient
) -> None:
    old = control.post("old card", age_s=90_000)["ts"]
    cursor = poster.post("k", RUNS, None, say("gate"))
    control.post("approve", thread_ts=cursor)
    control.post("new run")
    control.post("reply in the old thread", thread_ts=old)
    root = control.post("another run")["ts"]
    control.post("its detail", thread_ts=root)
    control.post("to the channel too", thread_ts=old, reply_broadcast=True)
    poster.post("l", RUNS, cursor, say("own reply"))
    events = catch_up(call, identity, RUNS, cursor, {old: old, cursor: cursor})
    assert told(events) == [
        ("message", text)
        for text in (
            "approve",
            "new run",
            "reply in the old thread",
            "another run",
            "its detail",
            "to the channel too",
        )
    ]
    assert all(e.history for e in events)
    assert [e.thread_ts for e in events] == [cursor, None, old, None, root, old]


def test_the_history_is_read_to_its_end(call: Caller, identity: Identity, control: ControlClient) -> None:
    cursor = control.post("first")["ts"]
    for n in range(450):
        control.post(f"{n}", silent=True)
    events = catch_up(call, identity, RUNS, cursor, {})
    assert [e.text for e in events] == ["first", *map(str, range(450))]
    assert control.counters()["calls"]["conversations.history"] == 3


def test_what_was_heard_alive_has_the_same_claim(call: Caller, control: ControlClient, store: Store) -> None:
    listener = open_app(BOT_TOKEN, APP_TOKEN, control.api_url, store)
    listener.start()
    try:
        control.wait_connected()
        ts = control.post("continue")["ts"]
        control.edit(ts, "don't continue")
        heard = list(store.wait_for(2))
    finally:
        listener.stop()
    caught = catch_up(call, identify(call), RUNS, ts, {})
    assert told(caught) == [("message", "don't continue"), ("edit", "don't continue")]
    assert [e.claim_key for e in caught] == [e.claim_key for e in heard]


def test_a_thread_that_is_gone_is_passed_over(call: Caller, identity: Identity, control: ControlClient) -> None:
    ts = control.post("said")["ts"]
    assert told(catch_up(call, identity, RUNS, ts, {"1700000000.000001": "1700000000.000001"})) == [("message", "said")]


def test_rate_limits_are_waited_out(identity: Identity, control: ControlClient) -> None:
    now, waits = [0.0], []

    def wait(s: float) -> None:
        waits.append(s)
        now[0] += s

    ts = control.post("said")["ts"]
    control.fault("ratelimited", "conversations.history", times=2, retry_after_s=3)
    patient = Caller(open_client(BOT_TOKEN, control.api_url), now=lambda: now[0])
    assert told(catch_up(patient, identity, RUNS, ts, {}, wait)) == [("message", "said")]
    assert waits == [3, 3]


def test_a_failure_catches_up_nothing(call: Caller, identity: Identity, control: ControlClient) -> None:
    ts = control.post("said")["ts"]
    control.fault("http_500", "conversations.history")
    with pytest.raises(ChatUnavailable):
        catch_up(call, identity, RUNS, ts, {})


@pytest.fixture
def connections() -> Iterator[list[float]]:
    yield []


def test_the_bot_is_told_when_it_was_cut_off(control: ControlClient, store: Store, connections: list[float]) -> None:
    listener = open_app(
        BOT_TOKEN, APP_TOKEN, control.api_url, store, on_connect=lambda: connections.append(time.monotonic())
    )
    listener.start()
    try:
        control.wait(listener.healthy)
        control.send("drop")
        control.wait(lambda: len(connections) == 2)
    finally:
        listener.stop()
    assert not listener.healthy()


def test_direct_messages_are_found_also_new_ones_and_old_threads_that_go_on(
    call: Caller, identity: Identity, poster: SlackPoster, control: ControlClient
) -> None:
    old = control.post("an old question", channel=DIRECT, age_s=90_000)["ts"]
    quiet = control.post("another", channel=DIRECT, age_s=90_000)["ts"]
    control.post("answered then", channel=DIRECT, thread_ts=quiet, age_s=80_000)
    cursor = control.post("heard")["ts"]
    control.post("status", channel=DIRECT)
    control.post("and now?", channel=DIRECT, thread_ts=old)
    poster.post("k", VIEWER, None, say("the first words to her"))
    control.post("who are you?", channel="D0VERA", user=VIEWER)
    control.post("not this", channel=RUNS)
    events = catch_up_direct(call, identity, cursor)
    assert [(e.text, e.user, e.thread_ts) for e in events] == [
        ("status", OPERATOR, None),
        ("and now?", OPERATOR, old),
        ("who are you?", VIEWER, None),
    ]
    assert all(e.history and e.channel_type == "im" for e in events)


def test_a_direct_message_that_cannot_be_read_leaves_the_others(
    call: Caller, identity: Identity, poster: SlackPoster, control: ControlClient
) -> None:
    cursor = control.post("heard")["ts"]
    control.post("status", channel=DIRECT)
    poster.post("k", VIEWER, None, say("hello"))
    control.post("help", channel="D0VERA", user=VIEWER)
    control.fault("error", "conversations.history", error="channel_not_found")
    assert told(catch_up_direct(call, identity, cursor)) == [("message", "help")]
    control.fault("http_500", "conversations.history")
    with pytest.raises(ChatUnavailable):
        catch_up_direct(call, identity, cursor)
