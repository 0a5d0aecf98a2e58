"""Wishes, opinions, ticks, ranges and runs left alone: what is meant by words that are no plain order."""

from typing import Any

import pytest

from bot.core.reading import Intent, Kind, read
from bot.core.reading.fixtures import FIXTURES


def readings(code: str, text: str) -> tuple[Intent, ...]:
    return read(text, FIXTURES[code])


def kinds(code: str, text: str) -> list[Kind]:
    return [intent.kind for intent in readings(code, text)]


@pytest.mark.parametrize(
    "text",
    ["I would kindly ask you to wait with the training until I have had the chance to look at the samples, thank you",
     "i would like you to wait for anna", "we would prefer to wait", "i would appreciate it if you waited",
     "i kindly request to hold the training", "i must ask you to hold", "we'd rather hold off", "we had better wait",
     "it would be better to wait", "i suggest holding off", "i'm against continuing", "i am not in favour of starting",
     "i don't recommend continuing", "we're opposed to starting training"],
)  # fmt: skip
def test_a_wish_to_wait_holds(text: str) -> None:
    assert kinds("G1", text) == [Kind.HOLD]


@pytest.mark.parametrize("text", ["he had to wait for the bus", "i waited for the bus", "anna likes to wait tables"])
def test_a_tale_of_waiting_is_none(text: str) -> None:
    assert kinds("G1", text) == [Kind.IGNORE]


@pytest.mark.parametrize(
    "refusal",
    ["under no circumstances", "on no account", "by no means", "in no case", "under no condition", "in no way"],
)
def test_a_refusal_with_a_no_in_it_binds_to_the_order(refusal: str) -> None:
    assert kinds("G1", f"{refusal} continue") == [Kind.HOLD]
    assert kinds("G1", f"continue {refusal}") == [Kind.HOLD]


@pytest.mark.parametrize(
    ("text", "why"),
    [("i would be in favour of continuing", "hedge"), ("i'm for continuing", "hedge"), ("i suggest starting", "hedge"),
     ("i would recommend continuing", "hedge"), ("we favor continuing", "hedge"), ("i support going ahead", "hedge"),
     ("i vote for continuing", "hedge"), ("tom suggests continuing", "reported"), ("he votes for starting", "reported"),
     ("<@U7> says we can continue", "reported"), ("<@U7> told me to continue", "reported"),
     ("fine if it's fine for anna", "conditional"), ("ok once anna agrees", "conditional"),
     ("sounds good if the disk allows", "conditional"), ("good unless anna objects", "conditional"),
     ("let's get this moving", "hype"), ("let's get moving", "hype")],
)  # fmt: skip
def test_an_opinion_on_the_order_asks(text: str, why: str) -> None:
    (intent,) = readings("G1", text)
    assert (intent.kind, intent.why, intent.proposed) == (Kind.ASK, why, "ADVANCE")


@pytest.mark.parametrize("text", ["<@U7> says go ahead", "<@U7> approved this, continue", "<@U7> wants to continue"])
def test_a_mentioned_person_who_tells_is_not_spoken_to(text: str) -> None:
    assert kinds("G1m", f"<@U0BOT> {text}")[0] in (Kind.ASK, Kind.IGNORE)
    assert kinds("G1", text)[0] in (Kind.ASK, Kind.IGNORE)


@pytest.mark.parametrize("text", ["<@U7> please continue", "<@U7> look at this", "<@U7> tell me if we continue"])
def test_a_mentioned_person_who_is_told_is(text: str) -> None:
    assert kinds("G1m", f"<@U0BOT> {text}") == [Kind.IGNORE]


@pytest.mark.parametrize(
    "text",
    ["i'm thinking of continuing my studies", "she is thinking about starting a family", "i was just going to lunch",
     "i think i am going home"],
)  # fmt: skip
def test_an_opinion_on_something_else_is_chatter(text: str) -> None:
    assert kinds("G1", text) == [Kind.IGNORE]


@pytest.mark.parametrize(
    "text",
    ["samples checked ✅ continue", "samples ✅ logs ✅ continue", "9000/9000 ✅ continue", "evidence ok 👍 continue",
     "samples checked :white_check_mark: continue", "extraction ✅ start training", "✅ continue"],
)  # fmt: skip
def test_a_tick_ends_a_thought(text: str) -> None:
    assert kinds("G1", text) == [Kind.ADVANCE]


@pytest.mark.parametrize(
    "text",
    ["not checked ✅ continue", "samples not ok ✅ continue", "samples ✅ headers ❌ continue", "don't ✅ continue",
     "checked ✅ don't continue", "never ✅ continue", "samples ✅ but wait", "extraction ✅ training"],
)  # fmt: skip
def test_a_tick_parts_no_refusal_from_its_order(text: str) -> None:
    assert not any(intent.acts for intent in readings("G1", text))


@pytest.mark.parametrize(
    "said",
    ["lr 1e-4 to 3e-4", "lr 1e-4 or 3e-4", "lr between 1e-4 and 3e-4", "lr 1e-4..3e-4", "lr 1e-4-3e-4", "3 to 5 epochs",
     "2 or 3 epochs", "lr 1e-4 until 3e-4"],
)  # fmt: skip
def test_a_range_is_no_value(said: str) -> None:
    for text in (said, f"continue with {said}", f"{said}, continue"):
        (intent,) = readings("G1", text)
        assert (intent.kind, intent.why, intent.set) == (Kind.ASK, "no_value", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("lr 2e-4 and 3 epochs", {"lr": 2e-4, "epochs": 3}), ("gpus 0-3", {"gpus": [0, 1, 2, 3]}),
     ("set lr to 2e-4 for training", {"lr": 2e-4}), ("lr 2e-4 for the training please", {"lr": 2e-4})],
)  # fmt: skip
def test_what_looks_like_a_range_is_still_a_value(text: str, expected: dict[str, Any]) -> None:
    (intent,) = readings("G1", text)
    assert (intent.kind, intent.set) == (Kind.OVERRIDE, expected)


@pytest.mark.parametrize(
    ("text", "when"),
    [("continue at 9k", {"samples": 9000}), ("start training at 5k", {"samples": 5000}),
     ("continue when it hits 9k", {"samples": 9000}), ("continue at 90k", None), ("continue at 9", None),
     ("continue at 9pm", None), ("continue at 9m", None)],
)  # fmt: skip
def test_thousands_without_a_unit_are_samples_where_they_can_be_reached(text: str, when: object) -> None:
    (intent,) = readings("R37", text)
    assert (intent.kind, intent.when) == (Kind.ASK, when)


@pytest.mark.parametrize(
    ("text", "lrs"),
    [("continue r12 with lr 2e-4 and continue r14 with lr 1e-4", {"r12": 2e-4, "r14": 1e-4}),
     ("continue r12 (lr 2e-4), continue r14 (lr 1e-4)", {"r12": 2e-4, "r14": 1e-4}),
     ("continue r12 with lr 2e-4, continue r14", {"r12": 2e-4, "r14": None})],
)  # fmt: skip
def test_each_run_gets_its_own_value(text: str, lrs: dict[str, float | None]) -> None:
    found = readings("G2", f"<@U0BOT> {text}")
    assert {intent.kind for intent in found} == {Kind.ADVANCE}
    assert {intent.run: intent.set.get("lr") for intent in found} == lrs


@pytest.mark.parametrize(
    "text",
    ["continue r12 with lr 2e-4 and r14 with lr 1e-4", "continue r12 with lr 2e-4 lr 3e-4 and continue r14",
     "r12: lr 2e-4, r14: lr 1e-4"],
)  # fmt: skip
def test_values_that_may_be_of_either_run_ask(text: str) -> None:
    assert set(kinds("G2", f"<@U0BOT> {text}")) == {Kind.ASK}


@pytest.mark.parametrize(
    "text",
    ["don't touch r14, continue r12", "do not disturb r14; start r12", "leave r14 alone, continue r12",
     "continue r12 but don't touch r14", "continue r12 and leave r14 alone", "continue r12, leave r14 running",
     "keep r14 running and start r12", "don't stop r14, continue r12", "leave r14 and continue r12",
     "continue r12, leave r14, thank you very much", "start r12, leave r14 please"],
)  # fmt: skip
def test_a_run_left_alone_stands_in_no_other_runs_way(text: str) -> None:
    (intent,) = readings("GR", f"<@U0BOT> {text}")
    assert (intent.kind, intent.run) == (Kind.ADVANCE, "r12")
    waiting = {each.run: each.kind for each in readings("G2", f"<@U0BOT> {text}")}
    assert waiting["r12"] in (Kind.ADVANCE, Kind.ASK)
    assert waiting.get("r14", Kind.HOLD) in (Kind.HOLD, Kind.ASK)


@pytest.mark.parametrize(
    "text",
    ["don't touch r12, continue r14", "don't touch r14 or r12, continue", "leave r12 alone and continue",
     "leave r12 alone, leave r14 alone, continue", "don't touch r12, don't touch r14, continue", "don't touch r12",
     "start r12, leave r14 don't"],
)  # fmt: skip
@pytest.mark.parametrize("code", ["GR", "G2"])
def test_a_run_left_alone_is_not_started(code: str, text: str) -> None:
    assert not any(intent.acts and intent.run == "r12" for intent in readings(code, f"<@U0BOT> {text}"))


@pytest.mark.parametrize("text", ["kill it", "stop it", "cancel please", "cancel training"])
def test_an_end_without_a_name_may_be_of_any_run(text: str) -> None:
    (intent,) = readings("GR", f"<@U0BOT> {text}")
    assert (intent.kind, intent.more) == (Kind.ASK, {"candidates": ["r12", "r14"]})


@pytest.mark.parametrize(
    "text",
    ["계속해도 돼?", "계속할까요?", "진행해도 될까요?", "진행할까?", "훈련 시작할까요?", "¿continúo?", "¿seguimos?",
     "¿puedo continuar?", "weitermachen?", "on continue ?", "продолжаем?", "可以继续吗?", "続けてもいいですか？"],
)  # fmt: skip
def test_a_question_in_another_language_asks(text: str) -> None:
    (intent,) = readings("G1", text)
    assert (intent.kind, intent.why) == (Kind.ASK, "question")


@pytest.mark.parametrize("text", ["계속하지 마", "계속하지마세요", "진행하지 마세요"])
def test_a_korean_refusal_holds(text: str) -> None:
    assert kinds("G1", text) == [Kind.HOLD]


@pytest.mark.parametrize("text", ["계속합시다", "계속하면", "seguimos"])
def test_another_form_of_a_foreign_order_is_doubted(text: str) -> None:
    assert kinds("G1", text) == [Kind.ASK]


@pytest.mark.parametrize(
    ("text", "view"),
    [("whens it finished", "eta"), ("whens it done", "eta"), ("wheres the log", "logs"), ("whats the eta", "eta"),
     ("¿cuánto falta para terminar?", "eta")],
)  # fmt: skip
def test_a_question_without_its_apostrophe_is_one(text: str, view: str) -> None:
    (intent,) = readings("R37", text)
    assert (intent.kind, intent.more) == (Kind.STATUS, {"view": view})


@pytest.mark.parametrize("words", ["继续", "続けて", "extraction's ok "])
def test_a_message_cut_short_by_its_words_never_acts(words: str) -> None:
    assert not any(intent.acts for intent in readings("G1", words * 45 + "不要" if words[0] == "e" else words * 90))
