"""What is there already stands on its evidence alone; what a run left goes after one more word."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.core.pipeline import GateSpec
from tests.scenario.box import evidence
from tests.scenario.chat import text
from tests.scenario.room import ADA, BOT, VERA, Room, pipeline

PROCESS = {
    "pid": 4711,
    "start_ticks": 99,
    "boot_id": "boot",
    "user": "ada",
    "command": "python train.py",
    "started_at": None,
    "out": "/data/out",
}


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path, hosts=("box1", "box2"), roles={"operators": [ADA], "admins": []})
    made.start()
    yield made
    made.down()


def whispered(room: Room, words: str) -> None:
    room.until(lambda: any(words in text(card) for _, card in room.chat.whispers) or None, f"whispered {words!r}")


def test_a_finished_folder_passes_its_gate_on_evidence_alone(room: Room) -> None:
    room.boxes["box2"].folders["/data/hs"] = 12 * 10**9
    assert room.tell("adopt box2:/data/hs as extract").startswith("done: adopt")
    room.shown("r1/gate/vocab")
    run = room.run()
    assert (run.phase.value, run.stage("extract").state, run.stage("synth").state) == ("waiting", "proven", "waived")
    work = run.stage("extract").latest("work")
    assert work is not None and (work.host, work.out, work.rc) == ("box2", "/data/hs", None)
    looked = [spec for spec in room.boxes["box2"].launches if spec.stage == "extract"]
    assert [spec.attempt for spec in looked] == ["r1-extract-1.verify1"]
    assert "/data/hs" in looked[0].argv
    made = run.stage("extract").evidence
    assert made is not None and [check["name"] for check in made["checks"]] == ["samples"], "no exit code is claimed"
    assert room.box.works() == []
    assert "12 GB" in text(room.shown("/adopted").card)
    room.tell("continue")
    room.until(lambda: "r1-vocab-1" in room.box.views or None, "the next stage runs on its own host")


def test_a_folder_whose_evidence_contradicts_opens_no_gate(room: Room) -> None:
    room.box.folders["/data/hs"] = 5
    room.box.proofs["extract"] = evidence("extract", ("samples", 9, 10))
    room.tell("adopt box1:/data/hs as extraction")
    room.until_phase("blocked")
    assert room.run().stage("extract").state == "blocked"
    assert not [said for said in room.chat.said if "/gate/vocab" in said.key]


def test_a_process_is_watched_and_verified_at_its_end(room: Room) -> None:
    room.to_gate()
    room.boxes["box2"].processes[4711] = PROCESS
    room.tell("adopt box2 pid 4711 as train")
    room.until(lambda: "r1-train-1" in room.boxes["box2"].views or None, "it is watched")
    attempt = room.until_phase("running").attempt("r1-train-1")
    assert (attempt.host, attempt.out) == ("box2", "/data/out")
    ended = replace(room.boxes["box2"].views["r1-train-1"], state="exited", rc=None)
    room.boxes["box2"].views["r1-train-1"] = ended
    room.shown("r1/gate/bench")
    assert room.run().stage("train").state == "proven"
    assert "r1-train-1" not in [spec.attempt for spec in room.boxes["box2"].launches], "nothing was started"


@pytest.mark.parametrize(
    "said",
    [
        "don't adopt box1:/data/hs as extract",
        "adopt box1:/data/hs as extract?",
        "should we adopt box1:/data/hs as extract",
        "maybe adopt box1:/data/hs as extract",
        "adopt box1:/data/hs as extract tomorrow",
        "ben said adopt box1:/data/hs as extract",
        "> adopt box1:/data/hs as extract",
        "~adopt box1:/data/hs as extract~",
        "adopt box1:/data/hs",
        "adopt box1:/data/hs as nonsense",
        "adopt box1:/data/hs as extract for r7",
    ],
)
def test_whatever_is_no_plain_order_adopts_nothing(room: Room, said: str) -> None:
    room.box.folders["/data/hs"] = 5
    assert not room.tell(said).startswith("done: adopt")
    assert room.run().stage("extract").attempts == ()


def test_what_is_not_there_or_not_reached_changes_nothing(room: Room) -> None:
    assert room.tell("adopt box1:/data/none as extract").startswith("refused")
    whispered(room, "there is no /data/none")
    assert room.tell("adopt box9:/data/hs as extract").startswith("refused: No host is called box9")
    room.boxes["box2"].down = True
    assert room.tell("adopt box2:/data/hs as extract").startswith("refused: box2 gives no answer")
    assert room.run().phase.value == "waiting" and room.run().stage("extract").attempts == ()


def test_only_operators_adopt_and_only_while_nothing_runs(room: Room) -> None:
    room.box.folders["/data/hs"] = 5
    assert "not allowed" in room.tell("adopt box1:/data/hs as extract", user=VERA)
    room.tell("go")
    room.until_phase("running")
    assert room.tell("adopt box1:/data/hs as extract").startswith("refused")
    assert room.run().stage("extract").attempts == ()


def test_a_gate_that_needs_two_is_not_passed_by_adopting(tmp_path: Path) -> None:
    """vocab leads straight on to train, which the two are asked for."""
    room = Room(tmp_path, pipeline(vocab=GateSpec(needed=2)))
    try:
        room.start()
        room.box.folders["/data/map"] = 5
        assert "needs more than one person" in room.tell("adopt box1:/data/map as vocab")
        assert room.run().stage("vocab").attempts == ()
    finally:
        room.down()


# cleanup


def over(room: Room, run_id: str = "r1") -> None:
    """A run that failed and left two folders."""
    room.tell("go", run=run_id)
    room.work(f"{run_id}-synth-1")
    room.work(f"{run_id}-extract-1", rc=1)
    room.until_phase("failed", run_id)
    room.box.folders |= {f"{{root}}/runs/{run_id}/synth": 2 * 10**9, f"{{root}}/runs/{run_id}/extract": 10**9}


def test_a_cleanup_shows_sizes_and_deletes_only_after_one_more_word(room: Room) -> None:
    over(room)
    shown = room.answer(room.say("cleanup"))
    assert "2 GB" in shown and "1 GB" in shown and "Delete 3 GB" in shown
    assert room.box.removed == []
    assert room.tell("confirm cleanup").startswith("done: deleted 3 GB")
    assert sorted(room.box.removed) == ["{root}/runs/r1/extract", "{root}/runs/r1/synth"]
    assert "Deleted 3 GB of r1 on box1" in text(room.shown("/cleaned/").card)
    audit = [order for order in room.store.orders("r1") if "deleted" in order["outcome"]]
    assert len(audit) == 1 and audit[0]["who"] == ADA and "box1:{root}/runs/r1/extract" in audit[0]["outcome"]
    assert room.tell("confirm cleanup").startswith("refused"), "once"


def test_the_button_deletes_too_and_only_for_operators(room: Room) -> None:
    over(room)
    event = room.say("what can be deleted")
    room.answer(event)
    room.outcome(room.press("answer/", "cleanup", user=VERA))
    assert room.box.removed == []
    assert room.outcome(room.press("answer/", "cleanup")).startswith("done: deleted")
    assert len(room.box.removed) == 2


@pytest.mark.parametrize(
    "said", ["confirm cleanup?", "don't confirm cleanup", "confirm cleanup later", "cleanup everything!"]
)
def test_talk_deletes_nothing(room: Room, said: str) -> None:
    over(room)
    room.answer(room.say("cleanup"))
    assert not room.tell(said).startswith("done: deleted")
    assert room.box.removed == []


def test_nothing_is_deleted_unseen_by_others_or_while_it_is_needed(room: Room) -> None:
    over(room)
    assert room.tell("confirm cleanup").startswith("refused: Say `cleanup` first")
    room.answer(room.say("cleanup", user=VERA))
    assert "not allowed" in room.tell("confirm cleanup", user=VERA)
    room.answer(room.say("cleanup"))
    room.tell("retry")
    room.until_phase("running")
    assert room.tell("confirm cleanup").startswith("refused: r1 is running")
    assert room.box.removed == []


def test_what_another_run_uses_is_named_to_the_host_and_stays(room: Room) -> None:
    over(room)
    assert room.start() == "r2"
    room.box.folders["/disk/runs/r1/extract"] = 10**9
    room.tell("adopt box1:/disk/runs/r1/extract as extract", run="r2")
    room.shown("r2/gate/vocab")
    room.box.folders["{root}/runs/r1/vocab"] = 5
    room.desk.pipelines["eagle"] = replace(room.pipelines[0], vars={"draft": "{root}/runs/r1/vocab"})  # type: ignore[index]
    shown = room.answer(room.say("cleanup"))
    assert room.box.others["/disk/runs/r1/extract"] == "r2 extract"
    assert "stays: used by pipeline eagle" in shown
    room.tell("confirm cleanup")
    assert "{root}/runs/r1/vocab" not in room.box.removed and len(room.box.removed) == 2
    assert "left: box1:{root}/runs/r1/vocab, used by pipeline eagle" in text(room.shown("/cleaned/").card)


def test_a_host_out_of_reach_keeps_everything(room: Room) -> None:
    over(room)
    room.answer(room.say("cleanup"))
    room.box.down = True
    assert "Not every host of r1 answers" in room.tell("confirm cleanup")
    assert "gives no answer" in room.answer(room.say("cleanup"))
    room.box.down = False
    assert room.box.removed == []


def test_help_names_both(room: Room) -> None:
    assert "adopt HOST:/path as STAGE" in room.answer(room.say("help"))
    over(room)
    assert "`cleanup`" in room.answer(room.say(f"<@{BOT}> help"))
