"""However often something is said, by whomever, wherever: it happens once, and each is answered."""

import threading
import time
from dataclasses import replace
from pathlib import Path

from bot.core.model import Phase
from bot.core.stored import Posted
from tests.scenario.chat import text
from tests.scenario.room import ADA, BEN, BOT, Room


def test_one_post_delivered_four_times_is_one_order(room: Room) -> None:
    event = room.event("go", thread=room.head())
    for again in (event, event, replace(event, raw='{"retry_attempt": 1}'), replace(event, channel_type="")):
        room.hear(again)
    room.until_launched("r1-synth-1")
    assert room.box.works() == ["r1-synth-1"]
    assert len([o for o in room.store.orders("r1") if o["text"] == "go"]) == 1


def test_four_clicks_in_a_second_start_once_and_are_answered_to_the_clicker_alone(room: Room) -> None:
    room.to_gate()
    said, value = room.button("/gate/vocab", "advance")
    clicks = [room.press_value(said, "advance", value) for _ in range(4)]
    outcomes = [room.outcome(click) for click in clicks]
    room.until_launched("r1-vocab-1")
    assert [o.startswith("done: advance") for o in outcomes] == [True, False, False, False]
    assert room.box.works().count("r1-vocab-1") == 1
    room.until(lambda: len(room.chat.whispers) == 3 or None, "three are told")
    assert all(user == ADA for user, _ in room.chat.whispers)
    assert not [s for s in room.chat.said if s.key.startswith("answer/") and "changes nothing" in text(s.card)]


def test_two_operators_at_once_start_once(room: Room) -> None:
    room.to_gate()
    both = [room.say("extraction done, continue", who) for who in (ADA, BEN)]
    outcomes = [room.outcome(event) for event in both]
    room.until_launched("r1-vocab-1")
    assert sum(o.startswith("done: advance") for o in outcomes) == 1
    assert room.box.works().count("r1-vocab-1") == 1
    assert room.run().started is not None and room.run().started.by == ADA
    assert "U0ADA" in room.answer(both[1])


def test_a_click_on_an_old_card_says_who_started_what(room: Room) -> None:
    room.to_gate()
    said = room.shown("/gate/vocab")
    value = next(b.value for p in said.card.parts if p.kind == "buttons" for b in p.buttons if b.action == "advance")
    room.tell("extraction done, continue")
    room.work("r1-vocab-1")
    room.until(lambda: "r1-train-1" in room.box.views or None, "training runs")
    before = room.box.works()
    click = room.press_value(said, "advance", value, BEN)
    assert room.outcome(click) == "refused: an old button"
    told = room.until(lambda: next((text(c) for u, c in room.chat.whispers if u == BEN), None), "he is told")
    assert "<@U0ADA> started" in told
    assert room.box.works() == before


def test_the_terminal_passes_a_gate_that_the_chat_shows(room: Room) -> None:
    room.to_gate()
    said, value = room.button("/gate/vocab", "advance")
    event = room.hear(room.event("continue", "root", room.head(), team="terminal"))
    click = room.press_value(said, "advance", value, BEN)
    assert {room.outcome(event)[:13], room.outcome(click)[:7]} == {"done: advance", "refused"}
    room.until_launched("r1-vocab-1")
    assert room.box.works().count("r1-vocab-1") == 1
    assert room.run().started.by == "root"
    room.until(lambda: "passed by root" in text(room.shown("/gate/vocab").card) or None, "its card says so")


def test_continue_then_wait_starts_nothing(room: Room) -> None:
    room.to_gate()
    room.box.looks_take_s = 0.1
    room.undo(60)
    first, second = room.say("extraction done, continue"), room.say("wait", BEN)
    assert room.outcome(first).startswith("done: advance") and room.outcome(second).startswith("done: hold")
    room.until_phase("held")
    room.until(lambda: not room.run().live or None, "the check has ended")
    assert room.run().phase is Phase.HELD and "r1-vocab-1" not in room.box.works()


def test_wait_within_the_undo_window_takes_the_launch_back(tmp_path: Path) -> None:
    room = Room(tmp_path, undo_s=60)
    room.start()
    room.say("go")
    room.until_phase("starting")
    assert room.tell("wait", BEN).startswith("done: hold")
    assert room.run().phase is Phase.HELD
    room.until(lambda: room.store.pending_effects() == [] or None, "nothing is left to do")
    assert room.box.launches == []
    assert "Taken back by <@U0BEN>" in text(room.shown("r1-synth-1/starting").card)
    room.down()


def test_orders_at_top_level_are_kept_in_order_as_well(room: Room) -> None:
    room.to_gate()
    room.box.looks_take_s = 0.2
    room.undo(60)
    events = [room.say(f"<@{BOT}> r1 extraction done, continue", run=None), room.say(f"<@{BOT}> r1 wait", run=None)]
    outcomes = [room.outcome(event) for event in events]
    assert outcomes[0].startswith("done: advance") and outcomes[1].startswith("done: hold")
    assert room.until_phase("held") and "r1-vocab-1" not in room.box.works()


def test_an_edit_to_dont_within_the_undo_window_takes_it_back(tmp_path: Path) -> None:
    room = Room(tmp_path, undo_s=60)
    room.start()
    event = room.say("go")
    room.until_phase("starting")
    edit = replace(event, kind="edit", text="don't go", previous_text="go", event_ts=f"{float(event.ts) + 1:.6f}")
    assert room.outcome(room.hear(edit)).startswith("done: hold")
    assert room.run().phase is Phase.HELD and room.box.launches == []
    room.down()


def test_an_edit_after_the_start_offers_to_cancel_and_a_deletion_changes_nothing(room: Room) -> None:
    event = room.say("go")
    room.until_launched("r1-synth-1")
    edit = replace(event, kind="edit", text="don't go", previous_text="go", event_ts=f"{float(event.ts) + 40:.6f}")
    answer = room.answer(room.hear(edit))
    assert "before it was edited" in answer and '"action": "cancel"' in answer
    again = replace(edit, text="go go go", previous_text="don't go", event_ts=f"{float(event.ts) + 50:.6f}")
    assert not room.outcome(room.hear(again)).startswith("done")
    gone = replace(event, kind="deletion", text="go", event_ts=f"{float(event.ts) + 60:.6f}")
    assert room.outcome(room.hear(gone)).startswith("deleted")
    assert room.run().phase is Phase.RUNNING and room.box.works() == ["r1-synth-1"]
    assert [o["text"] for o in room.store.orders("r1")][1] == "go"
    chain = room.store.verify_orders()
    assert chain.count >= 4 and not chain.fault


def test_cancel_asks_its_own_speaker_once_more(room: Room) -> None:
    room.tell("go")
    room.until_phase("running")
    room.tell("cancel")
    room.tell("cancel", BEN)
    assert room.run().phase is Phase.RUNNING, "another one's cancel confirms nothing"
    asked = room.run().question
    assert asked is not None and asked.asked_of == BEN
    assert room.outcome(room.press(f"r1/cancel/{asked.version}", "cancel_yes", BEN)).startswith("done: cancel")
    room.until_phase("cancelled")


def test_two_gates_in_one_channel_are_passed_apart(room: Room) -> None:
    room.start()
    room.to_gate("r1")
    room.tell("go", run="r2")
    room.work("r2-synth-1")
    room.work("r2-extract-1")
    room.shown("r2/gate/vocab")
    both = room.say(f"<@{BOT}> continue", run=None)
    answer = room.answer(both)
    assert "r1" in answer and "r2" in answer and room.outcome(both).startswith("asked")
    assert room.outcome(room.press("r2/gate/vocab", "advance", BEN)).startswith("done: advance")
    room.until_phase("running", "r2")
    assert room.run("r1").phase is Phase.WAITING
    assert "r1-vocab-1" not in room.box.works()
    room.tell("extraction done, continue", run="r1")
    room.until_phase("running", "r1")


def test_a_reply_in_a_thread_that_is_not_known_yet_waits_until_it_is(tmp_path: Path) -> None:
    room = Room(tmp_path)
    add_post, shown = room.store.add_post, threading.Event()

    def late(posted: Posted) -> None:  # the chat shows the card, its answer is still on the way
        if posted.key == "r1/status":
            shown.wait(10)
        add_post(posted)

    room.store.add_post = late  # type: ignore[method-assign]
    try:
        assert room.tell(f"<@{BOT}> start eagle", run=None) == "done: planned r1"
        card = room.until(lambda: next((s for s in room.chat.said if s.key == "r1/status"), None), "it is shown")
        event = room.say("go", thread=card.ts)
        time.sleep(0.7)
        assert room.store.event_outcome(event.claim_key) is None, "not ignored as somebody else's thread"
        shown.set()
        assert room.outcome(event).startswith("done: advance")
    finally:
        shown.set()
        room.down()
