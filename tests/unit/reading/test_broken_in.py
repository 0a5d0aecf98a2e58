"""Messages that once acted, or stayed mute, where they should not have."""

from dataclasses import replace

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


@pytest.mark.parametrize(
    "text",
    ["> <@U0BOT> hi\ncontinue", "&gt; <@U0BOT> hi\ncontinue", "```<@U0BOT>```\ncontinue", "`<@U0BOT>` continue",
     "`<@U0BOT> continue`", "``<@U0BOT>`` continue", "continue <@U0BOTTOM>", "~<@U0BOT>~ continue",
     "continue\n>>> <@U0BOT>"],
)  # fmt: skip
def test_a_mention_in_what_is_not_read_or_of_a_longer_id_is_none(text: str) -> None:
    assert not any(intent.acts for intent in read(text, FIXTURES["G1m"]))


@pytest.mark.parametrize("text", ["<@U0BOT> continue", "<@U0BOT> `continue`", "> hi\n<@U0BOT> continue"])
def test_a_mention_in_the_text_addresses_the_bot(text: str) -> None:
    assert kinds("G1m", text) == [Kind.ADVANCE]


@pytest.mark.parametrize(
    ("code", "text"),
    [("G1", "continue >= 17:00"), ("G1", "continue &gt; 5pm"), ("G1", "continue >= 9000 samples"),
     ("G1", "continue @ >=90%"), ("G1", "continue, > 5pm"), ("G1", "continue > ~5pm"), ("G1", "<= 80% continue"),
     ("G1", "lr >= 1e-4, continue"), ("F", "retry > 5pm"), ("GT", "bench > 17:00"), ("B", "bench again > 17:00"),
     ("T62", "stop >= 80%"), ("T62", "kill it > 80%"), ("K", "yes > 80%")],
)  # fmt: skip
def test_a_comparison_behind_an_order_is_a_condition(code: str, text: str) -> None:
    assert kinds(code, text) == [Kind.ASK]


@pytest.mark.parametrize("text", ["loss < 2, continue", "loss is < 2, continue", "accuracy >= 0.7, continue"])
def test_a_figure_that_is_compared_is_no_condition(text: str) -> None:
    assert kinds("GT", text) == [Kind.ADVANCE]


@pytest.mark.parametrize("text", ["lr=2e-4, continue", "continue, lr = 2e-4", "lr == 2e-4 continue"])
def test_a_value_after_an_equals_sign_is_no_condition(text: str) -> None:
    (intent,) = read(text, FIXTURES["G1"])
    assert (intent.kind, intent.set) == (Kind.ADVANCE, {"lr": 2e-4})


@pytest.mark.parametrize(
    "emoji",
    [
        "🙄",
        ":rolling_eyes:",
        ":face_with_rolling_eyes:",
        "🤡",
        ":clown_face:",
        ":trollface:",
        "🫠",
        "😏",
        "🤦",
        "😂",
        ":joy:",
    ],
)
def test_a_mocking_emoji_beside_an_order_asks(emoji: str) -> None:
    assert kinds("G1", f"continue {emoji}") == [Kind.ASK]
    assert kinds("G1", f"{emoji} continue") == [Kind.ASK]
    assert kinds("Q", f"both {emoji}") == [Kind.ASK]
    assert kinds("K", f"yes {emoji}") == [Kind.ASK]


@pytest.mark.parametrize("emoji", ["🎉", "👍", ":white_check_mark:"])
def test_a_friendly_emoji_beside_an_order_does_not(emoji: str) -> None:
    assert kinds("G1", f"continue {emoji}") == [Kind.ADVANCE]


@pytest.mark.parametrize(
    ("code", "text"),
    [("G1", "yes, i saw it"), ("G1", "yep, saw that"), ("G1", "yes it is"), ("G1", "yes, i looked"),
     ("K", "yes, i saw it"), ("K", "yes, 62%"), ("K", "yes, at 62%"), ("K", "yes, 62% is done")],
)  # fmt: skip
def test_a_yes_that_tells_something_confirms_nothing(code: str, text: str) -> None:
    assert kinds(code, text) == [Kind.ASK]


@pytest.mark.parametrize("text", ["yes", "yes please", "yes, looks good", "yes, i saw it, looks good", "yes, continue"])
def test_a_yes_with_a_verdict_or_an_order_still_passes_the_gate(text: str) -> None:
    assert kinds("G1", text) == [Kind.ADVANCE]


@pytest.mark.parametrize(
    ("code", "text"),
    [("G1", "continue, <@U123>"), ("G1", "continue <@U123>"), ("G1", "ok, continue. <@U123>"), ("G1", "yes, <@U123>"),
     ("F", "retry, <@U123>"), ("GT", "bench, <@U123>"), ("K", "yes, <@U123>"), ("T62", "kill it, <@U123>"),
     ("G1", "lr 2e-4, <@U123>")],
)  # fmt: skip
def test_an_order_beside_the_mention_of_a_person_asks(code: str, text: str) -> None:
    assert kinds(code, text) == [Kind.ASK]


@pytest.mark.parametrize(
    "text", ["gpu", "GPU", "gpus", "gpu?", "gpu please", "show gpu", "show the gpus", "<@U0BOT> gpu"]
)
@pytest.mark.parametrize("code", ["T62", "G1", "B", "R37", "F"])
def test_a_parameter_that_is_a_view_too_is_shown_where_it_stands_alone(code: str, text: str) -> None:
    (intent,) = read(text, FIXTURES[code])
    assert (intent.kind, intent.run, intent.more) == (Kind.STATUS, "r12", {"view": "gpu"})


def test_a_gpu_with_a_number_is_a_value_still() -> None:
    (intent,) = read("gpu 3", FIXTURES["G1"])
    assert (intent.kind, intent.set) == (Kind.OVERRIDE, {"gpus": [3]})


@pytest.mark.parametrize(
    "text",
    ["lr 2e-4 %", "lr 2e-4%", "lr 2e-4-", "epochs 3+", "epochs +3", "+3 epochs", "~3 epochs", "3+ epochs, continue",
     "gpus 0,1+", "extraction lr 2e-4, continue", "extraction: lr 2e-4, continue", "extraction 3 epochs, continue",
     "for extraction lr 2e-4", "benchmark lr 2e-4, continue"],
)  # fmt: skip
def test_a_value_with_a_sign_or_of_another_stage_is_not_taken(text: str) -> None:
    assert kinds("G1", text) == [Kind.ASK]


@pytest.mark.parametrize(
    "text",
    ["training lr 2e-4, continue", "lr 2e-4!, continue", "'lr 2e-4', continue", "lr 2e-4 - continue",
     "training: lr 2e-4, continue", "extraction done, lr 2e-4, continue", "extraction done, lr `2e-4`. continue"],
)  # fmt: skip
def test_a_plain_value_is_taken(text: str) -> None:
    (intent,) = read(text, FIXTURES["G1"])
    assert (intent.kind, intent.set) == (Kind.ADVANCE, {"lr": 2e-4})


@pytest.mark.parametrize(
    ("code", "text"),
    [("G1", "2 gpus, continue"), ("G1", "500 samples, continue"), ("G1", "continue, 500 samples"),
     ("G1", "continue (500 samples)"), ("G1", "only 8999, continue"), ("G1", "7912 of 9000 samples, continue"),
     ("G1", "99%, continue"), ("F", "retry, 100 samples"), ("GT", "bench, 5 prompts"), ("B", "bench again, 5 prompts"),
     ("T62", "kill it, 500 samples"), ("G2", "<@U0BOT> r12: 500 samples, continue")],
)  # fmt: skip
def test_a_count_beside_an_order_that_the_machine_does_not_show_asks(code: str, text: str) -> None:
    assert kinds(code, text) == [Kind.ASK]


def test_a_part_of_the_whole_asks_even_where_the_machine_shows_it() -> None:
    short = replace(FIXTURES["G1"].runs[0], done=7912, percent=87.9)
    for text in ["7912 of 9000 samples, continue", "7912, continue", "87.9%, continue"]:
        assert [i.kind for i in read(text, replace(FIXTURES["G1"], runs=(short,)))] == [Kind.ASK]


def test_a_count_asks_where_the_machine_shows_none() -> None:
    silent = replace(FIXTURES["G1"].runs[0], done=None, total=None, percent=None)
    for text in ["9000 samples, continue", "5pm, continue", "100 x, continue"]:
        assert [i.kind for i in read(text, replace(FIXTURES["G1"], runs=(silent,)))] == [Kind.ASK]


@pytest.mark.parametrize(
    "text",
    ["9000 samples, continue", "9000 of 9000 samples, continue", "all 9,000 samples, continue",
     "checked 20 samples, all fine. continue", "30 samples checked, continue", "100%, continue"],
)  # fmt: skip
def test_a_count_that_the_machine_shows_or_somebody_read_passes(text: str) -> None:
    assert kinds("G1", text) == [Kind.ADVANCE]


@pytest.mark.parametrize(
    "verdict",
    ["some checks green", "most checks green", "some samples are good", "most samples look good",
     "several checks passed", "mostly green",
     "most look to be green", "only the headers look good", "one check green", "many checks are ok"],
)  # fmt: skip
def test_a_verdict_on_less_than_all_asks(verdict: str) -> None:
    assert kinds("G1", f"{verdict}, continue") == [Kind.ASK]
    assert kinds("G1", f"continue, {verdict}") == [Kind.ASK]


@pytest.mark.parametrize(
    "verdict",
    ["all checks green", "checks green", "samples look good", "looked at some samples", "all good", "many thanks"],
)
def test_a_verdict_on_all_of_it_or_on_what_was_read_passes(verdict: str) -> None:
    assert kinds("G1", f"{verdict}, continue") == [Kind.ADVANCE]


@pytest.mark.parametrize("said", ["extraction lr 2e-4", "lr 2e-4 %", "lr 5", "+3 epochs"])
def test_a_value_that_cannot_be_taken_is_told_before_a_run_is_picked(said: str) -> None:
    (intent,) = read(f"<@U0BOT> {said}, continue", FIXTURES["G2"])
    assert (intent.kind, intent.carried) == (Kind.ASK, {})
    assert intent.why in {"unknown_param", "no_value", "out_of_range"}


def test_one_number_beyond_another_picks_no_run() -> None:
    assert kinds("Q", "1 > 2") == [Kind.ASK]
