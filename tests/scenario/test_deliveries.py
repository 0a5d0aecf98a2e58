"""The real bot over real Socket Mode: however often, late or edited Slack delivers a thing, it happens once or not."""

import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bot.cli.hearing import CURSOR
from bot.cli.hearing import DIRECT as DIRECT_CURSOR
from bot.workspace import DIRECT, OPERATOR, SECOND_OPERATOR, VIEWER
from tests.scenario.conftest import MakeWorld
from tests.scenario.world import World, pipeline

pytestmark = pytest.mark.slow
HOUR_S = 3600.0


def planned(make_world: MakeWorld, **config: Any) -> World:
    world = make_world(pipeline(0.3), **config)
    world.up()
    world.say("<@U0BOT> start quick")
    world.head()
    world.until_told("the plan is ready")
    return world


def button(world: World, action: str, thread: str) -> tuple[str, str]:
    """ts and action id of the newest message of the thread that has the button."""
    for message in reversed(world.control.thread(thread)):
        for block in message.get("blocks", []):
            for element in block.get("elements", []):
                if element.get("type") == "button" and str(element.get("action_id", "")).startswith(action):
                    return str(message["ts"]), str(element["action_id"])
    raise AssertionError(f"no button {action}: {world.told()}")


def orders(world: World, text: str = "") -> list[dict[str, Any]]:
    with world.store() as store:
        return [order for order in store.orders("r1") if text in order["text"]]


def whispers(world: World, user: str) -> str:
    return "\n".join(json.dumps(m, ensure_ascii=False) for m in world.control.ephemerals(user=user))


def test_one_post_in_every_delivery_that_slack_knows_starts_once(make_world: MakeWorld) -> None:
    world = planned(make_world)
    ts = world.say("<@U0BOT> go", world.head())  # a message and an app_mention
    for kind, attempt in (("message", 0), ("message", 1), ("message", 0), ("app_mention", 1)):
        world.control.send("redeliver", ts=ts, type=kind, attempt=attempt)
    world.until_told("Started")
    world.until(lambda: world.starts().get("synth"), "synth runs")
    assert len(orders(world, "go")) == 1
    assert len(world.starts()["synth"]) == 1


def test_two_operators_click_and_write_at_once_and_each_is_answered(make_world: MakeWorld) -> None:
    world = planned(make_world)
    thread = world.head()
    card, action = button(world, "advance", thread)
    assert world.control.click(card, action, times=4) == [True] * 4
    world.say("go", thread, user=SECOND_OPERATOR)
    world.until_gate("extract")
    assert {stage: len(tokens) for stage, tokens in world.starts().items()} == {"synth": 1, "extract": 1}
    assert "Nothing was changed" in whispers(world, OPERATOR), "the clicks that came too late are answered"
    assert [order["outcome"] for order in orders(world)].count("done: advance") == 1


def _has(world: World, action: str, thread: str) -> bool:
    return any(action in json.dumps(message) for message in world.control.thread(thread))


def test_the_terminal_and_a_button_pass_one_gate_once(make_world: MakeWorld) -> None:
    world = planned(make_world, undo_s=3.0)
    card, action = button(world, "advance", world.head())
    with ThreadPoolExecutor() as hands:
        said = hands.submit(world.bot, "say", "go", "--run", "r1", "--as", "root")
        world.until(lambda: [o for o in orders(world) if o["outcome"] == "done: advance"] or None, "one of them counts")
        if _has(world, '"advance', world.head()):  # its card was not drawn again yet
            world.control.click(card, action, user=SECOND_OPERATOR)
        assert "done: advance" in said.result()
    assert [order["outcome"] for order in orders(world)].count("done: advance") == 1
    world.until_told("by root")
    assert len(world.until(lambda: world.starts().get("synth"), "synth runs")) == 1


def test_continue_and_wait_most_of_a_second_later_starts_nothing(make_world: MakeWorld) -> None:
    world = planned(make_world, undo_s=10.0)
    thread = world.head()
    world.say("go", thread)
    time.sleep(0.8)
    world.say("wait", thread, user=SECOND_OPERATOR)
    world.until_phase("held")
    assert "Taken back by" in world.until_told("Taken back by")
    assert world.starts() == {}


def test_an_order_edited_and_deleted_after_it_was_carried_out(make_world: MakeWorld) -> None:
    world = planned(make_world, undo_s=0.0)
    thread = world.head()
    ts = world.say("go", thread)
    world.until(lambda: world.starts().get("synth"), "synth runs")
    world.control.edit(ts, "don't go")
    told = world.until_told("before it was edited")
    assert "Nothing was changed" in told
    world.control.delete(ts)
    world.until(lambda: [o for o in orders(world) if o["outcome"].startswith("deleted")] or None, "it is recorded")
    assert orders(world)[1]["text"] == "go" and orders(world)[1]["outcome"] == "done: advance"
    assert "the chain is whole" in world.bot("audit", "verify")
    assert len(world.starts()["synth"]) == 1


def test_whoever_may_not_is_told_alone_and_who_may(make_world: MakeWorld) -> None:
    world = planned(make_world, roles={"operators": [OPERATOR, "S0MLOPS"]})
    thread = world.head()
    before = len(world.control.thread(thread))
    world.say("go", thread, user=VIEWER)
    told = world.until(lambda: whispers(world, VIEWER) or None, "she is told")
    assert f"<@{OPERATOR}>" in told and "<!subteam^S0MLOPS>" in told
    assert len(world.control.thread(thread)) == before + 1, "her own message, and nothing for the others"
    world.say("go", thread, user=SECOND_OPERATOR)  # a member of the group
    world.until(lambda: world.starts().get("synth"), "synth runs")


def test_an_order_of_seven_hours_ago_is_asked_about_once(make_world: MakeWorld) -> None:
    world = planned(make_world)
    thread = world.head()
    world.down()
    with world.store() as store:
        store.set_cursor(CURSOR, f"{time.time() - 8 * HOUR_S:.6f}")
    world.control.post("start synth", thread_ts=thread, age_s=7 * HOUR_S)
    world.up()
    world.until_told("Still wanted?")
    world.down(signal.SIGKILL)
    with world.store() as store:
        store.set_cursor(CURSOR, f"{time.time() - 8 * HOUR_S:.6f}")  # as if the catch-up had not come to its end
    world.up()
    world.until(lambda: "caught up" in world.log.read_text().rpartition("up: quick")[2] or None, "it looks again")
    time.sleep(1.0)
    assert len(orders(world, "start synth")) == 1
    assert world.starts() == {} and world.phase() == "waiting"
    card, action = button(world, "advance", thread)
    world.control.click(card, action)
    world.until(lambda: world.starts().get("synth"), "one tap, and it is wanted")


def test_a_short_and_a_truncated_set_starts_nothing_and_both_are_named(make_world: MakeWorld, tmp_path: Path) -> None:
    linger = tmp_path / "still-writing"
    linger.touch()
    world = make_world(pipeline(0.3, extract={"total": 8, "linger": linger}))
    world.up()
    world.say("<@U0BOT> start quick")
    thread = world.head()
    world.until_told("the plan is ready")
    world.say("go", thread)
    file = world.root / "runs/r1/extract/00003"
    world.until(lambda: (world.root / "runs/r1/extract/00007").exists() or None, "eight of ten are written")
    file.write_text(file.read_text()[:20])
    linger.unlink()
    world.until_phase("blocked", timeout_s=60)
    told = world.until_told("20 bytes, 64 expected")
    assert "not proven" in told and "*samples* 8 (expected 10)" in told and "`00003`: 20 bytes, 64 expected" in told
    world.say("extraction done, continue", thread)
    world.until_told("waive because")
    assert "vocab" not in world.starts()


@pytest.mark.parametrize("kind", ["http_500", "lost_reply"])
def test_a_chat_that_edits_nothing_still_refuses_tells_and_says_everything_once(
    make_world: MakeWorld, kind: str
) -> None:
    world = planned(make_world, roles={"operators": [OPERATOR]})
    world.control.fault(kind, "chat.update", times=-1)
    world.control.fault("lost_reply", "chat.postMessage", times=2)
    thread = world.head()
    world.say("go", thread)
    world.until_told("Start vocab")
    world.say("go", thread, user=VIEWER)
    world.until(lambda: whispers(world, VIEWER) or None, "she is told")
    world.control.send("faults/clear")
    world.until_told("passed by", timeout_s=60)
    keys = [m["metadata"]["event_payload"]["key"] for m in world.control.thread(thread) if m.get("metadata")]
    assert len(keys) == len(set(keys)) >= 4


def test_a_direct_message_about_no_run_is_answered_after_the_bot_was_away(make_world: MakeWorld) -> None:
    world = planned(make_world)
    world.down()
    asked = world.control.post("help", channel=DIRECT, age_s=60)["ts"]
    with world.store() as store:
        store.set_cursor(CURSOR, f"{time.time() - HOUR_S:.6f}")
        store.set_cursor(DIRECT_CURSOR, f"{time.time() - HOUR_S:.6f}")
    world.up()

    def answers() -> list[Any]:
        return [m for m in world.control.thread(asked, channel=DIRECT) if m["user"] == "U0BOT"]

    world.until(lambda: answers() or None, "he is answered")
    world.down()
    world.up()
    world.until(lambda: "caught up (heard-direct)" in world.log.read_text().rpartition("up: quick")[2] or None, "again")
    assert len(answers()) == 1
