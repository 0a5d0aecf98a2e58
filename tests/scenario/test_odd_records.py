"""What a host tells may be odd in every way: one attempt's records harm neither another run nor the channel."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bot.core.attempt import AttemptState
from bot.core.machine import attempts
from bot.core.model import Phase
from bot.errors import LaunchFailed
from bot.service import redraw
from runner.protocol.evidence import Check, Evidence, Subject
from runner.protocol.view import Gpu, HostView, PollAsk
from tests.scenario.box import evidence
from tests.scenario.chat import text
from tests.scenario.room import Room

SHOUT = "<!channel> <@U0BEN> <https://evil|ok>"


def synthesising(room: Room) -> str:
    room.tell("go")
    room.until(lambda: "r1-synth-1" in room.box.views or None, "it is launched")
    room.until(lambda: room.run().attempt("r1-synth-1").state is AttemptState.RUNNING or None, "it is seen")
    return "r1-synth-1"


def tells(room: Room, attempt: str, **fields: Any) -> None:
    room.box.views[attempt] = replace(room.box.views[attempt], **fields)


def extracted(room: Room, proof: dict[str, Any]) -> None:
    """Extraction ends with exit code 0; a look at its output finds `proof`."""
    room.box.proofs["extract"] = proof
    room.tell("go")
    room.work("r1-synth-1")
    room.until(lambda: "r1-extract-1" in room.box.views or None, "extraction runs")
    room.work("r1-extract-1")


def test_a_loss_of_nan_stops_nothing(room: Room) -> None:
    attempt = synthesising(room)
    figures = json.loads('[{"step": 3, "loss": NaN, "lr": 1e400, "accuracy": 0.5}]')
    tells(room, attempt, metrics=figures, status={"progress": {"done": float("nan"), "total": 10}, "message": "on"})
    room.until(lambda: room.run().attempt(attempt).metrics or None, "it is told")
    assert room.run().attempt(attempt).metrics == {"step": 3.0, "accuracy": 0.5}
    assert room.tell("status") == "shown" and room.tell("accuracy?") == "shown"
    room.down()
    room.up()
    assert room.tell("status") == "shown"
    room.work(attempt)
    room.until(lambda: "r1-extract-1" in room.box.views or None, "it goes on")


def test_an_odd_status_neither_hides_other_attempts_nor_freezes_cards(room: Room) -> None:
    attempt = synthesising(room)
    odd = {"progress": [1, 2], "eta_s": [1, 2], "disk": {"projected": "much", "free": "x\ud800"}, "message": "\udc80"}
    tells(room, attempt, status=odd)
    room.until(lambda: room.run().attempt(attempt).status or None, "it is told")
    assert room.run().attempt(attempt).status == {"disk": {}, "message": "\ufffd"}
    for question in ("status", "eta", "disk", "is it stuck?"):
        assert room.tell(question) == "shown"
    room.work(attempt)
    room.until(lambda: "r1-extract-1" in room.box.views or None, "it goes on")


def test_what_cannot_be_taken_over_is_unknown_and_the_others_go_on(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours with one attempt, of whatever kind."""
    attempt = synthesising(room)
    room.start()
    room.tell("go", run="r2")
    real = attempts.newest_lines
    monkeypatch.setattr(attempts, "newest_lines", lambda tail, new: 1 / 0 if new == b"odd\n" else real(tail, new))
    tells(room, attempt, log=b"odd\n", log_offset=4)
    room.until(lambda: room.run().attempt(attempt).state is AttemptState.UNKNOWN or None, "it is unknown")
    assert room.run().attempt(attempt).why == "its records cannot be read: ZeroDivisionError"
    room.until(lambda: "r2-synth-1" in room.box.views or None, "the other is launched")
    room.work("r2-synth-1")
    room.until(lambda: "r2-extract-1" in room.box.views or None, "the other goes on")
    tells(room, attempt, log=b"", log_offset=0)
    room.until(lambda: room.run().attempt(attempt).state is AttemptState.RUNNING or None, "it is known again")


def test_a_card_that_cannot_be_drawn_leaves_the_others(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.start()
    real = redraw.status_card
    monkeypatch.setattr(redraw, "status_card", lambda run, *more: real(run, *more) if run.id != "r1" else 1 / 0)
    room.tell("go", run="r2")
    room.until(lambda: "r2-synth-1" in room.box.views or None, "it is launched")
    room.box.progress("r2-synth-1", 7)
    head = room.head("r2")
    room.until(lambda: any(ts == head and "7/10" in text(card) for ts, card in room.chat.edits) or None, "it is drawn")


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        (Evidence("extract", Subject("/d"), [Check("samples", "no", 1, 10)]).to_json(), "not true, false or null"),  # type: ignore[arg-type]
        (Evidence("extract", Subject("/d"), [Check("samples", 1, 1, 1)]).to_json(), "not true, false or null"),  # type: ignore[arg-type]
        (evidence("synth", ("samples", 10, 10)), "is of 'synth', not of extract"),
        ({"verdict": "proven"}, "evidence does not fit"),
    ],
)
def test_evidence_that_is_odd_or_of_another_stage_proves_nothing(room: Room, proof: dict[str, Any], said: str) -> None:
    extracted(room, proof)
    room.until_phase("blocked")
    assert said in text(room.shown("/blocked").card)
    assert room.box.works() == ["r1-synth-1", "r1-extract-1"]
    assert room.tell("status") == "shown"


def test_evidence_with_nan_and_half_a_character_is_shown(room: Room) -> None:
    checks = [Check("recomputed", False, float("nan"), "at most 1e-4", "a\udc80"), Check("rows", None, 3)]
    extracted(room, Evidence("extract", Subject("/d"), checks).to_json())
    room.until_phase("blocked")
    assert "nan (expected at most 1e-4) · a\ufffd" in text(room.shown("/blocked").card)


def test_nothing_that_a_host_tells_calls_anybody(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = synthesising(room)
    poll = room.box.poll

    def shouting(asks: Sequence[PollAsk]) -> HostView:
        view = poll(asks)
        return replace(view, facts=replace(view.facts, gpus=[Gpu(0, SHOUT, 1, 2, 50.0)]))

    monkeypatch.setattr(room.box, "poll", shouting)
    tells(room, attempt, status={"progress": {"done": 3, "total": None, "unit": SHOUT}, "message": SHOUT})
    room.until(lambda: room.run().attempt(attempt).progress, "it is told")
    shown = [room.answer(room.say(question)) for question in ("status", "gpu usage", "eta")]
    assert "GPU 0 &lt;!channel&gt;" in shown[1] and "3 &lt;!channel&gt;" in shown[0]

    def refusing(**_: Any) -> dict[str, Any]:
        raise LaunchFailed("box1", f"there is no {SHOUT}", "no-folder")

    monkeypatch.setattr(room.box, "inspect", refusing)
    room.work(attempt)
    room.work("r1-extract-1")
    room.until_phase("waiting")
    assert room.tell("adopt box1:/data/hs as extract").startswith("refused")
    room.until(lambda: room.chat.whispers or None, "it is told why")
    said = [*shown, *room.texts(), *(text(card) for _, card in [*room.chat.edits, *room.chat.whispers])]
    assert not any(odd in each for each in said for odd in ("<!channel>", "<https://evil"))


def test_a_run_that_does_not_load_is_set_aside(room: Room) -> None:
    room.start()
    room.head("r2")
    room.down()
    room.up()
    with room.store._write() as connection:  # as an earlier version or a hand has left it
        connection.exec_driver_sql("update runs set body = '{}', version = version + 1 where id = 'r1'")
    assert [run.id for run in room.store.all_runs()] == ["r2"]
    room.tell("go", run="r2")
    room.until(lambda: "r2-synth-1" in room.box.views or None, "the other is launched")
    assert room.run("r2").phase is Phase.RUNNING
