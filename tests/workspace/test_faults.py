"""What goes wrong in a year of uptime, on demand; and that each fault is what the client library sees."""

import http.client
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

from bot.workspace import BOT_TOKEN, OPERATOR, RUNS, ControlClient, Refusal, running_workspace
from tests.workspace.conftest import Recorder
from tests.workspace.gallery import mrkdwn, status_card


def texts(control: ControlClient) -> list[str]:
    return [m["text"] for m in control.messages()]


def test_a_lost_reply_was_posted_all_the_same(control: ControlClient, web: WebClient) -> None:
    control.fault("lost_reply", "chat.postMessage")
    with pytest.raises((http.client.HTTPException, OSError)):
        web.chat_postMessage(channel=RUNS, text="once")
    assert texts(control) == ["once"]


def test_a_lost_request_was_not(control: ControlClient, web: WebClient) -> None:
    control.fault("lost_request", "chat.postMessage")
    with pytest.raises((http.client.HTTPException, OSError)):
        web.chat_postMessage(channel=RUNS, text="never")
    assert texts(control) == []


@pytest.mark.parametrize(("kind", "status"), [("http_500", 500), ("http_html", 502)])
def test_server_errors(control: ControlClient, web: WebClient, kind: str, status: int) -> None:
    control.fault(kind, times=1)
    with pytest.raises(SlackApiError) as caught:
        web.auth_test()
    assert caught.value.response.status_code == status
    assert web.auth_test()["ok"]


def test_429_says_how_long_and_the_sdks_handler_obeys(control: ControlClient) -> None:
    web = WebClient(BOT_TOKEN, base_url=control.api_url, retry_handlers=[])
    control.fault("ratelimited", "chat.postMessage", retry_after_s=7)
    with pytest.raises(SlackApiError) as caught:
        web.chat_postMessage(channel=RUNS, text="x")
    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "7"
    patient = WebClient(BOT_TOKEN, base_url=control.api_url, retry_handlers=[RateLimitErrorRetryHandler()])
    control.fault("ratelimited", "chat.postMessage", retry_after_s=1)
    patient.chat_postMessage(channel=RUNS, text="later")
    assert texts(control) == ["later"]
    assert control.counters()["refusals"] == {"chat.postMessage ratelimited": 2}


def test_rates_are_enforced_when_asked(control: ControlClient, web: WebClient) -> None:
    control.send("settings", enforce_rates=True)
    with pytest.raises(SlackApiError) as caught:
        for _ in range(20):
            web.chat_postMessage(channel=RUNS, text="x")
    assert caught.value.response["error"] == "ratelimited"
    assert 1 <= int(caught.value.response.headers["Retry-After"]) <= 5
    assert len(texts(control)) == 8


def test_an_injected_error_and_refused_block_types(control: ControlClient, web: WebClient) -> None:
    control.fault("error", "chat.update", error="fatal_error")
    ts = web.chat_postMessage(channel=RUNS, text="x")["ts"]
    with pytest.raises(SlackApiError, match="fatal_error"):
        web.chat_update(channel=RUNS, ts=ts, text="y")
    control.send("settings", refused_blocks=["plan", "task_card"])
    with pytest.raises(SlackApiError, match="invalid_blocks"):
        web.chat_postMessage(channel=RUNS, text="x", blocks=status_card())
    web.chat_postMessage(channel=RUNS, text="x", blocks=[mrkdwn("plain sections still pass")])


def test_one_event_three_times_with_retry_0_1_0(control: ControlClient, bot: Recorder) -> None:
    ts = control.post("continue")["ts"]
    bot.wait(1)
    control.send("redeliver", ts=ts, attempt=1)
    control.send("redeliver", ts=ts, attempt=0)
    assert len({b["event_id"] for b in bot.wait(3)}) == 1
    assert bot.retries == ["0", "1", "0"]
    assert len({e["envelope_id"] for e in control.look("envelopes")["envelopes"]}) == 3


def test_a_duplicate_and_a_lost_event(control: ControlClient, bot: Recorder) -> None:
    control.fault("duplicate", "message")
    control.post("twice")
    first, second = bot.wait(2)
    assert first["event_id"] == second["event_id"]
    control.fault("lose_event", "message")
    control.post("never told")
    control.post("told")
    bot.wait(3)
    assert [e["text"] for e in bot.events()] == ["twice", "twice", "told"]
    assert texts(control) == ["twice", "never told", "told"]


def test_an_event_nobody_acks_is_given_up(control: ControlClient, bot: Recorder) -> None:
    control.fault("lose_ack", times=-1)
    control.send("settings", ack_timeout_s=0.2)
    control.post("deaf ears")
    control.wait(lambda: control.counters()["deliveries"].get("ack_timeouts") == 4)
    assert control.counters()["deliveries"]["redelivered"] == 3


# the SDK drops its socket unclosed when the handshake is refused
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("how", ["drop", "refresh_requested", "refuse once"])
def test_the_sdk_reconnects(control: ControlClient, bot: Recorder, how: str) -> None:
    def opened() -> int:
        return int(control.counters()["deliveries"]["sockets_opened"])

    before = opened()
    if how == "refuse once":
        control.fault("refuse_socket")
    if how == "refresh_requested":
        control.send("disconnect", reason=how, close_after_s=0.1)
    else:
        assert control.send("drop")["dropped"] == 1
    control.wait(lambda: opened() > before and control.counters()["connections"], 20)
    control.post("after")
    control.wait(lambda: "after" in [e["text"] for e in bot.events()])


def test_without_a_connection_a_click_is_not_acked_and_events_run_out(control: ControlClient, web: WebClient) -> None:
    go = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    ts = web.chat_postMessage(channel=RUNS, text="x", blocks=[{"type": "actions", "elements": [go]}])["ts"]
    assert control.click(ts, "go") == [False]
    with pytest.raises(Refusal, match="no_such_button"):
        control.click(ts, "stop")
    control.wait(lambda: control.counters()["deliveries"].get("redelivered") == 3)


def test_state_survives_a_restart(tmp_path: Any) -> None:
    state = tmp_path / "workspace.db"
    with running_workspace(state=state) as control:
        web = WebClient(BOT_TOKEN, base_url=control.api_url)
        root = web.chat_postMessage(channel=RUNS, text="root", metadata={"event_type": "e", "event_payload": {"k": 1}})[
            "ts"
        ]
        control.post("reply", thread_ts=root)
        control.react(root, "eyes")
        web.chat_postEphemeral(channel=RUNS, user=OPERATOR, text="psst")
        web.chat_postMessage(channel="U0VERA", text="direct")
        file = web.files_upload_v2(channel=RUNS, filename="a.png", content=b"png bytes")["files"][0]["id"]
    with running_workspace(state=state) as control:
        again = control.messages()[0]
        assert (again["ts"], again["reply_count"], again["metadata"]["event_payload"]) == (root, 1, {"k": 1})
        assert again["reactions"] == [{"name": "eyes", "users": [OPERATOR], "count": 1}]
        assert [m["text"] for m in control.thread(root)] == ["root", "reply"]
        assert [m["text"] for m in control.ephemerals(OPERATOR)] == ["psst"]
        assert [m["text"] for m in control.messages("D0VERA")] == ["direct"]
        assert control.messages()[1]["files"][0]["id"] == file
        connection = http.client.HTTPConnection(control.base_url.removeprefix("http://"))
        connection.request("GET", f"/files/{file}")
        assert connection.getresponse().read() == b"png bytes"
        connection.close()
        assert control.post("later")["ts"] > root
