"""Messages that once acted, or stayed mute, where they should not have."""

import pytest

from bot.core.reading import Kind, read
from bot.core.reading.fixtures import FIXTURES


def kinds(code: str, text: str) -> list[Kind]:
    return [intent.kind for intent in read(text, FIXTURES[code])]


@pytest.mark.parametrize(
    "text",
    ["cancel the cancel", "stop the cancel", "abort the cancel", "kill the cancel", "kill that cancellation",
     "cancel the question", "cancel the request", "stop cancelling", "undo the cancel"],
)  # fmt: skip
def test_an_order_against_the_question_declines_it(text: str) -> None:
    (intent,) = read(text, FIXTURES["K"])
    assert (intent.kind, intent.more) == (Kind.HOLD, {"declines": "CANCEL"})


@pytest.mark.parametrize(
    "text", ["abort that", "cancel that", "kill that", "stop that", "please abort this", "cancel cancel", "abort",
             "yes, stop the cancel", "skip the question, yes"],
)  # fmt: skip
def test_what_may_be_against_the_question_asks(text: str) -> None:
    assert kinds("K", text) == [Kind.ASK]


@pytest.mark.parametrize("text", ["yes", "kill it", "cancel the run", "cancel r12", "stop it", "yes, abort it"])
def test_a_plain_confirmation_still_cancels(text: str) -> None:
    assert kinds("K", text) == [Kind.CANCEL]


@pytest.mark.parametrize("what", ["wrong", "bad", "broken", "failed", "are wrong", "look weird", "are stuck"])
def test_a_verdict_on_both_picks_neither(what: str) -> None:
    assert kinds("Q", f"both {what}") == [Kind.ASK]


@pytest.mark.parametrize("text", ["both", "both please", "both of them", "ok both", "r12 and r14"])
def test_both_still_picks_both(text: str) -> None:
    assert kinds("Q", text) == [Kind.ADVANCE, Kind.ADVANCE]
