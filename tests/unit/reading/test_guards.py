"""What the moment allows, whatever the words."""

from dataclasses import replace

import pytest

from bot.core.reading import Event, Kind, PendingQuestion, Phase, Place, QuestionKind, read
from bot.core.reading.fixtures import FIXTURES

G1 = FIXTURES["G1"]


@pytest.mark.parametrize("text", ["continue", "hold", "status", "kill it"])
def test_another_bot_is_never_answered(text: str) -> None:
    assert [i.kind for i in read(text, replace(G1, speaker_is_bot=True))] == [Kind.IGNORE]


def test_a_deletion_changes_nothing() -> None:
    assert [i.kind for i in read("continue", replace(G1, event=Event.DELETION))] == [Kind.IGNORE]


@pytest.mark.parametrize(("age_s", "kind"), [(899.0, Kind.ADVANCE), (900.0, Kind.ADVANCE), (901.0, Kind.ASK)])
def test_orders_grow_stale_after_a_quarter_of_an_hour(age_s: float, kind: Kind) -> None:
    assert read("continue", replace(G1, age_s=age_s))[0].kind is kind


def test_a_stale_hold_still_holds() -> None:
    assert read("hold", replace(G1, age_s=86_400.0))[0].kind is Kind.HOLD


@pytest.mark.parametrize("emoji", ["+1", "white_check_mark", "rocket", ":heavy_check_mark:", "arrow_forward"])
def test_a_reaction_never_acts(emoji: str) -> None:
    assert not any(i.acts for i in read(emoji, FIXTURES["RX"]))


def test_an_approval_counts_only_right_after_the_card() -> None:
    assert read("yes", G1)[0].kind is Kind.ADVANCE
    assert read("yes", replace(G1, card_is_last=False))[0].why == "target_unclear"


def test_only_who_held_lifts_the_hold_in_passing() -> None:
    held = FIXTURES["H"]
    assert read("continue", held)[0].kind is Kind.ADVANCE
    assert read("continue", replace(held, speaker="U7"))[0].why == "held_by_other"


def test_an_answer_of_somebody_else_confirms_nothing() -> None:
    asked = FIXTURES["K"]
    assert read("yes", asked)[0].kind is Kind.CANCEL
    assert asked.question is not None
    other = replace(asked, question=replace(asked.question, to_speaker=False))
    assert not any(i.acts for i in read("yes", other))


def test_an_answer_that_names_another_run_confirms_nothing() -> None:
    assert not any(i.acts for i in read("yes, r14", FIXTURES["K"]))
    assert not any(i.acts for i in read("kill r14", FIXTURES["K"]))


def test_a_picked_run_that_no_longer_waits_does_not_start() -> None:
    asked = FIXTURES["Q"]
    gone = replace(asked, runs=(asked.runs[0], replace(asked.runs[1], phase=Phase.RUNNING, gate_to=None)))
    assert read("r14", gone)[0].why == "not_waiting"
    assert asked.question == PendingQuestion(kind=QuestionKind.WHICH_RUN, proposed="ADVANCE", candidates=("r12", "r14"))


@pytest.mark.parametrize("text", ["continue r1", "continue r120", "continue r21", "continue run 2", "continue #1"])
def test_run_ids_are_matched_exactly(text: str) -> None:
    (intent,) = read(f"<@U0BOT> {text}", FIXTURES["G2"])
    assert (intent.kind, intent.why) == (Kind.ASK, "unknown_run")


def test_a_message_to_a_colleague_is_not_for_the_bot() -> None:
    assert read("<@U0BOB> continue", G1)[0].kind is Kind.IGNORE


def test_nobody_acts_at_top_level_without_a_mention() -> None:
    aside = replace(FIXTURES["G2"], place=Place.CHANNEL, mentioned=False)
    for text in ["continue r12", "r12 go", "kill r14", "bench r12", "continue"]:
        assert not any(i.acts for i in read(text, aside))


@pytest.mark.parametrize("text", ["continue", "kill it", "lr 2e-4", "retry"])
def test_a_stranger_orders_nothing_but_may_hold_and_look(text: str) -> None:
    stranger = FIXTURES["P"]
    assert read(text, stranger)[0].why == "not_authorized"
    assert read("status", stranger)[0].kind is Kind.STATUS
    assert read("hold", stranger)[0].kind is Kind.HOLD


def test_an_order_said_before_the_card_is_shown_counts_while_nobody_else_talks() -> None:
    early = replace(FIXTURES["G1"], card_is_last=False, quiet=True)
    assert [i.kind for i in read("continue", early)] == [Kind.ADVANCE]
    assert [i.kind for i in read("yes", early)] == [Kind.ASK], "an approval answers a card"
    assert [i.kind for i in read("continue", replace(early, quiet=False))] == [Kind.ASK]
