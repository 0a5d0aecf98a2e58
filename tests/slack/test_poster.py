"""What is said comes out once, whatever happens to the replies."""

import threading

import pytest

from bot.adapters.slack.call import Caller
from bot.adapters.slack.poster import SlackPoster
from bot.adapters.slack.web import open_client
from bot.core.cards import Button, Buttons, Card, StageLine, Stages, Table, say
from bot.errors import ChatUnavailable
from bot.workspace import BOT_TOKEN, DIRECT, OPERATOR, RANDOM, RUNS, ControlClient

HOLD = Buttons(buttons=(Button(action="hold", label="Hold", value="[]"),))
PLAN = Stages(title="r1", lines=(StageLine(id="a", title="extract", mark="complete", detail="done"),))


def texts(control: ControlClient) -> list[str]:
    return [m["text"] for m in control.messages()]


def test_a_repeat_finds_the_first_post(poster: SlackPoster, control: ControlClient) -> None:
    ts = poster.post("r1/1", RUNS, None, say("plan"))
    assert poster.post("r1/1", RUNS, None, say("plan")) == ts
    assert poster.post("r1/2", RUNS, None, say("plan")) != ts
    assert texts(control) == ["plan", "plan"]


def test_a_repeat_after_a_restart_finds_the_first_post(call: Caller, control: ControlClient) -> None:
    parent = SlackPoster(call).post("r1/0", RUNS, None, say("card"))
    ts = SlackPoster(call).post("r1/1", RUNS, parent, say("gate"))
    assert SlackPoster(call).post("r1/1", RUNS, parent, say("gate")) == ts
    assert SlackPoster(call).post("r1/0", RUNS, None, say("card")) == parent
    assert [m["text"] for m in control.thread(parent)] == ["card", "gate"]


@pytest.mark.parametrize("kind", ["lost_reply", "http_500", "http_html"])
def test_a_lost_reply_posts_once(kind: str, poster: SlackPoster, control: ControlClient) -> None:
    control.fault(kind, "chat.postMessage")
    try:
        ts = poster.post("k", RUNS, None, say("gate"), first=True)
    except ChatUnavailable as trouble:
        assert trouble.code == "" and not trouble.fatal
        ts = poster.post("k", RUNS, None, say("gate"))
    assert [m["ts"] for m in control.messages()] == [ts]


def test_a_lost_reply_is_settled_in_the_same_call(poster: SlackPoster, control: ControlClient) -> None:
    parent = poster.post("r1", RUNS, None, say("card"))
    control.fault("lost_reply", "chat.postMessage")
    ts = poster.post("k", RUNS, parent, say("gate"))
    assert [m["ts"] for m in control.thread(parent)] == [parent, ts]


def test_nothing_is_posted_while_it_cannot_be_known(poster: SlackPoster, control: ControlClient) -> None:
    control.fault("lost_reply", "conversations.history")
    with pytest.raises(ChatUnavailable):
        poster.post("k", RUNS, None, say("gate"))
    assert texts(control) == []


def test_a_rate_limit_is_obeyed_without_waiting(control: ControlClient) -> None:
    now = [100.0]
    poster = SlackPoster(Caller(open_client(BOT_TOKEN, control.api_url), now=lambda: now[0]))
    control.fault("ratelimited", "chat.postMessage", retry_after_s=7)
    with pytest.raises(ChatUnavailable) as refused:
        poster.post("k", RUNS, None, say("gate"))
    assert refused.value.retry_after_s == 7 and not refused.value.fatal
    now[0] += 6.0
    with pytest.raises(ChatUnavailable) as early:
        poster.post("k", RUNS, None, say("gate"))
    assert early.value.retry_after_s == pytest.approx(1.0)
    now[0] += 1.5
    poster.post("k", RUNS, None, say("gate"))
    assert texts(control) == ["gate"]


def test_refused_blocks_are_drawn_plainer(poster: SlackPoster, control: ControlClient) -> None:
    control.send("settings", refused_blocks=["plan", "table"])
    card = Card(fallback="r1", parts=(PLAN, Table(header=("a",), rows=(("1",),)), HOLD))
    poster.post("k", RUNS, None, card)
    message = control.messages()[0]
    assert [b["type"] for b in message["blocks"]] == ["section", "section", "actions"]
    assert "✔ extract · done" in message["blocks"][0]["text"]["text"]


def test_when_all_blocks_are_refused_the_text_is_left(poster: SlackPoster, control: ControlClient) -> None:
    control.send("settings", refused_blocks=["plan", "section", "actions"])
    poster.post("k", RUNS, None, Card(fallback="r1: extract is done", parts=(PLAN, HOLD)))
    assert texts(control) == ["r1: extract is done"]


def test_forty_thousand_characters_still_post_and_edit(poster: SlackPoster, control: ControlClient) -> None:
    huge = say("log line &amp; more\n" * 2_400, HOLD)
    ts = poster.post("k", RUNS, None, huge)
    poster.edit(RUNS, ts, huge)
    blocks = control.messages()[0]["blocks"]
    assert blocks[-1]["type"] == "actions"
    assert any("characters left out" in str(block) for block in blocks)


def test_an_edit_keeps_blocks_and_key(poster: SlackPoster, call: Caller, control: ControlClient) -> None:
    ts = poster.post("k", RUNS, None, Card(fallback="71 %", parts=(PLAN,)))
    poster.edit(RUNS, ts, Card(fallback="72 %", parts=(PLAN, HOLD)))
    message = control.messages()[0]
    assert message["text"] == "72 %" and [b["type"] for b in message["blocks"]] == ["plan", "actions"]
    assert SlackPoster(call).post("k", RUNS, None, say("72 %")) == ts


def test_an_edit_of_what_is_gone_says_so(poster: SlackPoster) -> None:
    with pytest.raises(ChatUnavailable) as gone:
        poster.edit(RUNS, "1700000000.000001", say("x"))
    assert gone.value.code == "message_not_found"


def test_a_whisper_is_for_one(poster: SlackPoster, control: ControlClient) -> None:
    poster.whisper(RUNS, None, OPERATOR, say("only you"))
    assert [(m["text"], m["visible_to"]) for m in control.ephemerals()] == [("only you", OPERATOR)]
    assert texts(control) == []


def test_reactions_may_be_repeated(poster: SlackPoster, control: ControlClient) -> None:
    ts = control.post("go")["ts"]
    for _ in range(2):
        poster.react(RUNS, ts, "eyes")
    poster.react(RUNS, ts, ":white_check_mark:")
    for _ in range(2):
        poster.react(RUNS, ts, "eyes", on=False)
    assert [r["name"] for r in control.messages()[0]["reactions"]] == ["white_check_mark"]
    poster.react(RUNS, "1700000000.000001", "eyes")  # nothing to react to any more


@pytest.mark.parametrize("fault", [None, "files.completeUploadExternal"])
def test_a_picture_is_shown_once(fault: str | None, call: Caller, control: ControlClient) -> None:
    parent = SlackPoster(call).post("r1", RUNS, None, say("card"))
    if fault:
        control.fault("lost_reply", fault)
    ts = SlackPoster(call).upload("k", RUNS, parent, "loss.png", b"\x89PNG\r\n\x1a\n", "loss")
    assert SlackPoster(call).upload("k", RUNS, parent, "loss.png", b"\x89PNG\r\n\x1a\n", "loss") == ts
    replies = control.thread(parent)[1:]
    assert [m["ts"] for m in replies] == [ts] and replies[0]["files"][0]["title"] == "loss"


def test_a_person_is_told_in_a_direct_message(poster: SlackPoster, control: ControlClient) -> None:
    ts = poster.post("k", OPERATOR, None, say("still waiting"))
    poster.edit(OPERATOR, ts, say("passed"))
    assert [m["text"] for m in control.messages(DIRECT)] == ["passed"]


def test_a_broadcast_is_in_the_channel_too(poster: SlackPoster, control: ControlClient) -> None:
    parent = poster.post("r1", RUNS, None, say("card"))
    poster.post("k", RUNS, parent, say("gate"), broadcast=True)
    poster.post("l", RUNS, parent, say("detail"))
    assert texts(control) == ["card", "gate"]


@pytest.mark.parametrize(("code", "words"), [("token_revoked", "install the app again"), ("invalid_auth", "token")])
def test_a_dead_token_is_fatal_and_says_what_to_do(
    code: str, words: str, poster: SlackPoster, control: ControlClient
) -> None:
    control.fault("error", "chat.postMessage", error=code)
    with pytest.raises(ChatUnavailable, match=words) as dead:
        poster.post("k", RUNS, None, say("x"))
    assert dead.value.fatal and dead.value.code == code


def test_a_missing_scope_is_named(poster: SlackPoster, control: ControlClient) -> None:
    control.send("settings", scopes=["channels:history"])
    with pytest.raises(ChatUnavailable, match=r"missing_scope \(chat:write\)") as refused:
        poster.post("k", RUNS, None, say("x"))
    assert refused.value.fatal


def test_an_uninvited_bot_says_so(poster: SlackPoster) -> None:
    with pytest.raises(ChatUnavailable, match="invite the app") as refused:
        poster.post("k", RANDOM, None, say("x"), first=True)
    assert refused.value.fatal


def test_slack_down_is_not_fatal() -> None:
    poster = SlackPoster(Caller(open_client(BOT_TOKEN, "http://127.0.0.1:9/api/")))
    with pytest.raises(ChatUnavailable) as down:
        poster.post("k", RUNS, None, say("x"))
    assert not down.value.fatal and down.value.code == ""


def test_two_threads_with_one_key_post_once(poster: SlackPoster, control: ControlClient) -> None:
    control.fault("slow", "chat.postMessage", delay_s=0.2)
    together = threading.Barrier(2)

    def post() -> None:
        together.wait()
        try:
            poster.post("k", RUNS, None, say("gate"))
        except ChatUnavailable as trouble:
            assert trouble.code == "busy"

    threads = [threading.Thread(target=post) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts(control) == ["gate"]
