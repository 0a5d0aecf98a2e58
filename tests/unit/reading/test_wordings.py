"""Kinds of wording that were once asked about, or answered with silence; several of each, and what looks like them."""

from typing import Any

import pytest

from bot.core.reading import Intent, Kind, read
from bot.core.reading.fixtures import FIXTURES


def readings(code: str, text: str) -> tuple[Intent, ...]:
    return read(text, FIXTURES[code])


def kinds(code: str, text: str) -> list[Kind]:
    return [intent.kind for intent in readings(code, text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("continue r12, not r14", {"r12": "ADVANCE", "r14": "HOLD"}),
     ("continue r12 but not r14", {"r12": "ADVANCE", "r14": "HOLD"}),
     ("don't start r12 yet; start r14", {"r12": "HOLD", "r14": "ADVANCE"}),
     ("continue r14 and keep r12 on hold", {"r12": "HOLD", "r14": "ADVANCE"}),
     ("r12 is not done; r14 go", {"r12": "HOLD", "r14": "ASK"}),
     ("continue r12, not r14, not r12", {"r12": "ASK", "r14": "HOLD"}),
     ("start r14, maybe not r12", {"r12": "HOLD", "r14": "ASK"})],
)  # fmt: skip
def test_a_refusal_binds_to_the_run_it_names(text: str, expected: dict[str, str]) -> None:
    assert {str(intent.run): intent.kind.value for intent in readings("G2", f"<@U0BOT> {text}")} == expected


@pytest.mark.parametrize(
    "text",
    ["continue r12 when r14 is through", "r12 go if r14 is still waiting", "when r14 is done, start r12",
     "start r12 after r14", "continue r12 with the same settings as r14", "start r12 unless r14 fails"],
)  # fmt: skip
def test_a_run_behind_a_condition_is_not_spoken_to(text: str) -> None:
    (intent,) = readings("G2", f"<@U0BOT> {text}")
    assert (intent.kind, intent.run, intent.proposed, intent.when) == (Kind.ASK, "r12", "ADVANCE", None)


@pytest.mark.parametrize(
    ("code", "text", "more"),
    [("R37", "when will it be ready", {"view": "eta"}), ("R37", "any idea when this ends?", {"view": "eta"}),
     ("R37", "when does it finish", {"view": "eta"}), ("R37", "¿cuánto falta?", {"view": "eta"}),
     ("R37", "wie lange noch?", {"view": "eta"}), ("R37", "сколько осталось?", {"view": "eta"}),
     ("R37", "done yet", {"view": "summary"}), ("R37", "extraction finished yet", {"view": "summary"}),
     ("R37", "how's it coming along", {"view": "summary"}), ("R37", "everything ok?", {"view": "summary"}),
     ("G1", "what is the next step?", {"view": "plan"}), ("G1", "show me a few samples", {"view": "samples"}),
     ("G1", "who was it that approved", {"view": "audit"}), ("T62", "what step are we at", {"view": "progress"})],
)  # fmt: skip
def test_a_question_in_other_words_is_shown_what_it_asks_for(code: str, text: str, more: dict[str, Any]) -> None:
    (intent,) = readings(code, text)
    assert (intent.kind, intent.run, dict(intent.more)) == (Kind.STATUS, "r12", more)


@pytest.mark.parametrize("text", ["anything running?", "is anything running right now?", "any jobs alive?"])
def test_what_runs_is_listed_without_a_run(text: str) -> None:
    (intent,) = readings("N0", f"<@U0BOT> {text}")
    assert (intent.kind, dict(intent.more)) == (Kind.STATUS, {"view": "list"})


@pytest.mark.parametrize(
    "text", ["thx for the update", "thanks for the logs", "nice speed", "great run", "not done yet", "see you tomorrow"]
)
def test_what_was_given_or_praised_is_not_asked_for(text: str) -> None:
    assert not {Kind.STATUS, Kind.ASK} & set(kinds("G1", text))


@pytest.mark.parametrize("text", ["lift the hold and start training", "unhold and go", "release it and continue"])
def test_a_lifted_hold_with_an_order_starts(text: str) -> None:
    assert kinds("H", text) == [Kind.ADVANCE]


@pytest.mark.parametrize(
    "text", ["take it off hold", "lift the hold", "unhold and wait", "lift the hold when bob is back", "release it"]
)
def test_a_lifted_hold_alone_asks(text: str) -> None:
    assert kinds("H", text) == [Kind.ASK]


@pytest.mark.parametrize(
    "text",
    ["continue if disk usage is below 80%", "continue if loss is below 2%", "continue once the queue is under 50%",
     "continue if box1 is below 80%"],
)  # fmt: skip
def test_a_figure_of_something_else_is_no_milestone(text: str) -> None:
    (intent,) = readings("G1", text)
    assert (intent.kind, intent.why, intent.when) == (Kind.ASK, "conditional", None)


@pytest.mark.parametrize("text", ["continue at 80%", "continue when it hits 80%", "start when it is at 80%"])
def test_a_figure_of_the_progress_is_one(text: str) -> None:
    (intent,) = readings("R37", text)
    assert (intent.kind, intent.when) == (Kind.ASK, {"percent": 80})


@pytest.mark.parametrize(("code", "waives"), [("V", "7912/9000"), ("R37", None)])
@pytest.mark.parametrize(
    "text", ["who cares, start training", "37% is enough, start training", "doesn't matter, start training"]
)
def test_to_go_on_with_less_is_a_waiver(code: str, waives: str | None, text: str) -> None:
    (intent,) = readings(code, text)
    assert (intent.kind, intent.proposed, intent.more.get("waives")) == (Kind.ASK, "ADVANCE", waives)


@pytest.mark.parametrize(
    ("code", "text", "proposed"),
    [("F", "nochmal versuchen", "RETRY"), ("F", "reintentar", "RETRY"), ("F", "relance stp", "RETRY"),
     ("F", "перезапусти", "RETRY"), ("F", "重试", "RETRY"),
     ("T62", "停止训练", "CANCEL"), ("T62", "abbrechen", "CANCEL"),
     ("T62", "отмена", "CANCEL"), ("T62", "annule", "CANCEL"), ("T62", "キャンセル", "CANCEL")],
)  # fmt: skip
def test_what_acts_in_another_language_is_asked_about(code: str, text: str, proposed: str) -> None:
    (intent,) = readings(code, text)
    assert (intent.kind, intent.proposed) == (Kind.ASK, proposed)


@pytest.mark.parametrize(
    "text",
    ["стоп", "停止", "stopp", "noch nicht starten", "не начинай", "先等一下", "pas encore svp"],
)  # fmt: skip
def test_what_holds_in_another_language_holds_at_a_gate(text: str) -> None:
    assert kinds("G1", text) == [Kind.HOLD]


@pytest.mark.parametrize("text", ["strart training", "go ahaed", "cotninue pls"])
def test_a_wide_slip_only_asks(text: str) -> None:
    (intent,) = readings("G1", text)
    assert intent.kind in (Kind.ASK, Kind.ADVANCE)
    assert not intent.acts or intent.rule == "pass_the_gate"


@pytest.mark.parametrize("text", ["strart lunch", "dont strart training", "contain yourselves", "c\u043entinue"])
def test_a_slip_beside_other_words_is_no_offer(text: str) -> None:
    (intent,) = readings("G1", text)
    assert intent.proposed is None


@pytest.mark.parametrize(
    "text",
    ["hold until i confirm", "wait till i approve", "no training today", "no retry", "wait, why are there only 7912",
     "leave it there for now", "please keep it parked", "wrong system prompt used", "too early", "pump the brakes"],
)  # fmt: skip
def test_who_waits_for_something_holds(text: str) -> None:
    assert kinds("G1", text) == [Kind.HOLD]


@pytest.mark.parametrize("text", ["all 9000 samples are there, exit 0", "all shards are in, exit code 0"])
def test_facts_without_an_order_are_met_with_the_question(text: str) -> None:
    (intent,) = readings("G1", text)
    assert (intent.kind, intent.why) == (Kind.ASK, "claim_without_order")


@pytest.mark.parametrize("text", ["continue, wd_magic=7", "wd_magic = 7, continue"])
def test_an_unknown_parameter_is_named_whole(text: str) -> None:
    (intent,) = readings("G1", text)
    assert (intent.why, intent.more["param"]) == ("unknown_param", "wd_magic")


def test_a_new_run_needs_no_verb() -> None:
    (intent,) = readings("N0", "<@U0BOT> new extraction run, llama-8b, 5k samples, box2")
    assert (intent.proposed, intent.set) == ("START", {"host": "box2", "max_samples": 5000, "model": "llama-8b"})
    assert kinds("N0", "<@U0BOT> new llama-8b is out") == [Kind.IGNORE]


@pytest.mark.parametrize("text", ["first one pls", "the second", "second please"])
def test_a_place_in_a_question_that_was_not_asked_asks(text: str) -> None:
    (intent,) = readings("G2", f"<@U0BOT> {text}")
    assert (intent.why, intent.more["candidates"]) == ("which_run", ["r12", "r14"])
