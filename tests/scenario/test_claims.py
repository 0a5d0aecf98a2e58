"""Two keys for every start: an order is no proof. What the machine shows decides, and is shown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.core.attempt import AttemptState
from bot.core.model import Phase
from bot.errors import ChatUnavailable
from bot.service.posts import for_chat
from tests.scenario.box import evidence
from tests.scenario.chat import text
from tests.scenario.room import ADA, BEN, Room


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path, roles={"operators": [ADA, BEN], "admins": [BEN]})
    made.start()
    yield made
    made.down()


def extracting(room: Room, done: int = 0) -> None:
    room.tell("go")
    room.work("r1-synth-1")
    room.until(lambda: "r1-extract-1" in room.box.views or None, "extraction runs")
    room.box.progress("r1-extract-1", done)
    room.until(lambda: room.run().attempt("r1-extract-1").progress, "it is seen")


def test_a_claim_at_37_percent_starts_nothing_and_says_what_was_found(room: Room) -> None:
    extracting(room, 3)
    room.box.progress("r1-extract-1", 4)
    answer = room.answer(room.say("extraction done, continue"))
    assert "is not done" in answer and "40 %" in answer and "4/10 samples" in answer and "alive on box1" in answer
    assert {'"arm"', '"watch"', '"status"'} <= {f'"{a}"' for a in ("arm", "watch", "status") if f'"{a}"' in answer}
    assert room.run().phase is Phase.RUNNING and room.box.works() == ["r1-synth-1", "r1-extract-1"]
    room.until(lambda: ["question"] in room.chat.marks.values() or None, "it is marked as asked")


def test_wait_and_tell_me_mentions_who_asked_at_the_next_turn(room: Room) -> None:
    extracting(room, 4)
    room.answer(room.say("extraction done, continue", BEN))
    assert room.outcome(room.press("answer/", "watch", BEN)).startswith("done: watch")
    room.work("r1-extract-1")
    assert BEN in room.shown("r1/gate/vocab").card.mentions
    assert room.run().watchers == ()


def test_what_is_armed_by_the_button_starts_once_proven_and_not_before(room: Room) -> None:
    extracting(room, 4)
    room.answer(room.say("extraction done, continue"))
    assert room.outcome(room.press("answer/", "arm")).startswith("done: arm")
    room.work("r1-extract-1")
    room.until(lambda: "r1-vocab-1" in room.box.works() or None, "it goes on by itself")
    assert room.run().started is not None and room.run().started.by == ADA


def test_100_percent_in_the_log_but_alive_is_not_done(room: Room) -> None:
    extracting(room, 10)
    answer = room.answer(room.say("extraction done, continue"))
    assert "has not quite ended" in answer and "alive on box1" in answer
    assert room.box.works() == ["r1-synth-1", "r1-extract-1"]


def test_an_unreachable_host_proves_nothing(room: Room) -> None:
    extracting(room, 4)
    room.box.down = True
    room.until(lambda: room.run().attempt("r1-extract-1").state is AttemptState.UNKNOWN or None, "it is unknown")
    answer = room.answer(room.say("extraction done, continue"))
    assert "box1 unreachable for" in answer and "at 40 %" in answer
    assert room.run().phase is Phase.RUNNING and '"action": "watch"' in answer
    room.box.down = False
    room.until(lambda: "reachable again" in "".join(room.texts()) or None, "it is back")
    outages = [s for s in room.chat.said if "/unreachable/" in s.key]
    assert len(outages) == 1 and "reachable again" in text(outages[0].card)


def test_exit_0_with_too_few_samples_and_a_truncated_file_starts_nothing_and_names_both(room: Room) -> None:
    room.box.proofs["extract"] = evidence(
        "extract", ("samples", 8512, 9000), bad=[("s-00017.safetensors", "truncated: 4,096 of 131,072 bytes")]
    )
    extracting(room)
    room.box.end("r1-extract-1")
    card = text(room.shown("r1-extract-1.verify1/blocked").card)
    assert "8,512" in card and "9,000" in card and "s-00017.safetensors" in card and "truncated" in card
    room.until_phase("blocked")
    answer = room.answer(room.say("extraction done, continue"))
    assert "waive because" in answer and '"action": "waive"' not in answer, "no reason, no waiver"
    assert room.box.works() == ["r1-synth-1", "r1-extract-1"]


def test_evidence_that_went_bad_behind_an_open_gate_blocks_the_start(room: Room) -> None:
    room.to_gate()
    room.box.proofs["extract"] = evidence("extract", ("samples", 9, 10), bad=[("s-3", "gone")])
    event = room.say("extraction done, continue")
    assert room.outcome(event).startswith("done: advance")
    room.until_phase("blocked")
    room.until(lambda: room.chat.marks.get(event.ts) == ["no_entry_sign"] or None, "the order is marked as refused")
    assert "s-3" in text(room.shown("r1-extract-1.check1/blocked").card)
    assert "r1-vocab-1" not in room.box.works()


def test_the_mark_of_a_check_that_ends_first_is_not_painted_over(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.to_gate()
    room.box.proofs["extract"] = evidence("extract", ("samples", 9, 10), bad=[("s-3", "gone")])
    note = room.store.note_order

    def late(*args: Any) -> None:  # the bot is slow between the order and its answer
        room.until_phase("blocked")
        note(*args)

    monkeypatch.setattr(room.store, "note_order", late)
    event = room.say("extraction done, continue")
    assert room.outcome(event).startswith("done: advance")
    room.until(lambda: not [s for s in room.store.pending_effects() if for_chat(s.effect)] or None, "all is said")
    assert room.chat.marks[event.ts] == ["no_entry_sign"]


def test_a_mark_that_the_chat_refuses_for_a_while_does_not_come_after_the_one_that_replaces_it(room: Room) -> None:
    room.to_gate()
    refused = ChatUnavailable("fatal_error", code="fatal_error")
    tries = iter([refused, refused])
    room.chat.refuse = lambda what: next(tries, None) if what == "react hourglass_flowing_sand" else None
    event = room.say("extraction done, continue")
    room.until(lambda: room.chat.marks.get(event.ts) == ["white_check_mark"] or None, "done")
    room.until(lambda: not [s for s in room.store.pending_effects() if for_chat(s.effect)] or None, "all is said")
    assert room.chat.marks[event.ts] == ["white_check_mark"] and next(tries, None) is None


def test_a_passed_check_marks_the_order_as_done(room: Room) -> None:
    room.to_gate()
    event = room.say("extraction done, continue")
    room.until(lambda: room.chat.marks.get(event.ts) == ["white_check_mark"] or None, "done")
    assert (event.ts, "hourglass_flowing_sand") in room.chat.marked, "while it was being worked on"


def test_a_waiver_needs_a_reason_and_an_admin_and_is_kept(room: Room) -> None:
    room.box.proofs["extract"] = evidence("extract", ("samples", 9, 10))
    extracting(room)
    room.box.end("r1-extract-1")
    room.until_phase("blocked")
    room.answer(room.say("waive because 9 are plenty"))
    assert room.outcome(room.press("answer/", "waive")) == "refused: waive not allowed"
    told = room.until(lambda: next((text(c) for u, c in room.chat.whispers if u == ADA), None), "she is told who may")
    assert "Only <@U0BEN> may" in told and not room.run().gate
    assert room.outcome(room.press("answer/", "waive", BEN)).startswith("done: waive")
    gate = text(room.shown("r1/gate/vocab").card)
    assert "Waived" in gate and "9 are plenty" in gate and room.run().phase is Phase.WAITING
    kept = next(o for o in room.store.orders("r1") if o["outcome"] == "done: waive")
    assert kept["who"] == BEN and kept["evidence"]
    room.tell("extraction done, continue", BEN)
    room.until_launched("r1-vocab-1")


def test_what_is_not_proven_can_be_left_as_it_is(room: Room) -> None:
    room.box.proofs["extract"] = evidence("extract", ("samples", 9, 10))
    extracting(room)
    room.box.end("r1-extract-1")
    room.until_phase("blocked")
    assert room.run().reminder is not None
    answer = room.answer(room.say("extraction done, continue"))
    assert '"action": "retry"' in answer and '"action": "hold_next"' in answer
    assert room.outcome(room.press("answer/", "hold_next")).startswith("done: hold")
    assert room.run().phase is Phase.BLOCKED and room.run().reminder is None, "nobody is reminded of it any more"


def test_who_names_the_shortfall_and_accepts_it_has_given_a_reason(room: Room) -> None:
    room.box.proofs["extract"] = evidence("extract", ("samples", 9, 10))
    extracting(room)
    room.box.end("r1-extract-1")
    room.until_phase("blocked")
    room.answer(room.say("9 are enough, continue", BEN))
    assert room.run().phase is Phase.BLOCKED, "still one tap"
    assert room.outcome(room.press("answer/", "waive", BEN)).startswith("done: waive")
    assert room.run().stage("extract").waived_why == "9 are enough, continue"


def test_a_retry_repairs_and_is_proven_anew(room: Room) -> None:
    room.box.proofs["extract"] = evidence("extract", ("samples", 9, 10))
    extracting(room)
    room.box.end("r1-extract-1")
    room.until_phase("blocked")
    room.box.proofs.clear()
    assert room.outcome(room.press("/blocked", "retry")).startswith("done: retry")
    room.work("r1-extract-2")
    room.shown("r1/gate/vocab")
    out = {spec.attempt: spec.out for spec in room.box.launches}
    assert out["r1-extract-2"] == out["r1-extract-1"], "what was made is repaired, not made anew"


def test_continue_when_its_done_is_repeated_in_plain_words_and_armed_by_one_button(room: Room) -> None:
    extracting(room, 4)
    answer = room.answer(room.say("continue when it's done"))
    assert "once *extraction* has ended and its output is proven, *vocabulary*, then *training* start" in answer
    assert room.run().armed is None
    room.outcome(room.press("answer/", "arm"))
    room.until(lambda: "armed by <@U0ADA>" in text(room.shown("r1/status").card) or None, "the status card shows it")
    room.tell("hold", BEN)
    assert room.run().armed is None
    room.box.end("r1-extract-1")
    room.shown("r1/gate/vocab")
    assert room.run().phase is Phase.WAITING and "r1-vocab-1" not in room.box.works()


def test_a_milestone_above_what_is_made_cannot_be_armed(room: Room) -> None:
    extracting(room, 4)
    answer = room.answer(room.say("continue at 9k samples"))
    assert "makes 10 samples in all" in answer and '"action": "arm"' not in answer
    answer = room.answer(room.say("continue at 8 samples"))
    assert "at 8 samples or more" in answer and '"action": "arm"' in answer
