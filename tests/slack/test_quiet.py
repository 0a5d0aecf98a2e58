"""A method that is limited or gives no answer rests by itself; all others are called as ever."""

import pytest

from bot.adapters.slack.call import Caller
from bot.adapters.slack.poster import SlackPoster
from bot.adapters.slack.quiet import RATE_LIMITED, Quiet
from bot.adapters.slack.web import open_client
from bot.core.cards import say
from bot.errors import ChatUnavailable
from bot.workspace import BOT_TOKEN, RUNS, VIEWER, ControlClient


class Watch:
    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def call(control: ControlClient, watch: Watch) -> Caller:
    return Caller(open_client(BOT_TOKEN, control.api_url), watch)


def calls(control: ControlClient, method: str) -> int:
    return int(control.counters()["calls"].get(method, 0))


def edit(poster: SlackPoster, ts: str) -> ChatUnavailable:
    with pytest.raises(ChatUnavailable) as failed:
        poster.edit(RUNS, ts, say("y"))
    return failed.value


def test_a_rate_limit_is_the_methods_in_every_channel(call: Caller, control: ControlClient) -> None:
    control.fault("ratelimited", "chat.update", retry_after_s=7)
    poster = SlackPoster(call)
    ts = poster.post("k", RUNS, None, say("x"))
    assert edit(poster, ts).retry_after_s == 7
    with pytest.raises(ChatUnavailable, match="rate limited") as elsewhere:
        poster.edit("D0VERA", ts, say("y"))
    assert elsewhere.value.retry_after_s == 7 and calls(control, "chat.update") == 1
    poster.post("l", RUNS, ts, say("another method is not limited"))
    poster.whisper(RUNS, None, VIEWER, say("nor this one"))


@pytest.mark.parametrize("kind", ["http_500", "lost_request", "lost_reply"])
def test_a_method_that_gives_no_answer_rests_and_is_tried_with_one_call(
    kind: str, call: Caller, control: ControlClient, watch: Watch
) -> None:
    poster = SlackPoster(call)
    first, second, third = (poster.post(k, RUNS, None, say(k)) for k in "abc")
    control.fault(kind, "chat.update", times=3)
    for ts in (first, second):
        assert not edit(poster, ts).code
    resting = edit(poster, third)
    assert resting.retry_after_s and not resting.whole and calls(control, "chat.update") == 2
    poster.post("d", RUNS, first, say("another method does not rest"))
    poster.whisper(RUNS, None, VIEWER, say("nor this one"))
    watch.s += resting.retry_after_s + 0.1
    assert not edit(poster, first).code
    longer = edit(poster, second).retry_after_s
    assert longer and longer > resting.retry_after_s and calls(control, "chat.update") == 3
    watch.s += longer + 0.1
    poster.edit(RUNS, first, say("there it is"))
    poster.edit(RUNS, second, say("and nothing rests any more"))


def test_one_call_that_fails_for_what_is_in_it_lets_no_other_rest(call: Caller, control: ControlClient) -> None:
    poster = SlackPoster(call)
    first, second = (poster.post(k, RUNS, None, say(k)) for k in "ab")
    control.fault("http_500", "chat.update", times=3)
    for _ in range(3):
        assert not edit(poster, first).code
    poster.edit(RUNS, second, say("y"))


def test_a_call_that_was_not_sent_is_not_looked_for(call: Caller, control: ControlClient) -> None:
    """A post whose method rests was certainly not carried out."""
    control.fault("lost_request", "chat.postMessage", times=2)
    poster = SlackPoster(call)
    for key in "ab":
        with pytest.raises(ChatUnavailable):
            poster.post(key, RUNS, None, say(key), first=True)
    looked = calls(control, "conversations.history")
    with pytest.raises(ChatUnavailable) as resting:
        poster.post("c", RUNS, None, say("c"), first=True)
    assert resting.value.retry_after_s and calls(control, "conversations.history") == looked


@pytest.mark.parametrize("error", ["token_revoked", "missing_scope", "not_in_channel"])
def test_only_a_dead_token_is_told_of_the_whole_chat(error: str, poster: SlackPoster, control: ControlClient) -> None:
    control.fault("error", "chat.postMessage", error=error)
    with pytest.raises(ChatUnavailable) as refused:
        poster.post("k", RUNS, None, say("x"))
    assert refused.value.fatal and refused.value.whole is (error == "token_revoked")


def test_no_connection_is_told_of_the_whole_chat(control: ControlClient, poster: SlackPoster) -> None:
    away = SlackPoster(Caller(open_client(BOT_TOKEN, "http://127.0.0.1:9/api/")))
    with pytest.raises(ChatUnavailable) as cut:
        away.post("k", RUNS, None, say("x"))
    assert cut.value.whole and not cut.value.fatal
    control.fault("lost_request", "chat.update")
    assert not edit(poster, "1.0").whole, "a connection that breaks under one call says nothing of others"


def test_silence_never_shortens_the_rest_that_was_asked_for(watch: Watch) -> None:
    quiet = Quiet(watch)
    quiet.limited("chat.update", 30.0)
    for about in ("1.0", "2.0"):  # calls that were under way when the limit came
        quiet.unanswered("chat.update", about)
    watch.s += 29.0
    with pytest.raises(ChatUnavailable) as resting:
        quiet.check("chat.update")
    assert resting.value.code == RATE_LIMITED
    watch.s += 1.5
    quiet.check("chat.update")
