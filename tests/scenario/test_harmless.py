"""What people say and hosts log does no harm: odd text holds nothing up, and secrets reach no post."""

from dataclasses import replace

import pytest

from bot.core.masking import MASK
from bot.service.outcome import TERMINAL
from runner.protocol.logtext import clean_tail
from tests.scenario.chat import text
from tests.scenario.room import Room


def test_half_a_surrogate_from_a_terminal_holds_up_no_order(room: Room) -> None:
    said = room.hear(replace(room.event("continue caf\udce9", thread=room.head()), team=TERMINAL))
    assert room.tell("status") == "shown"
    assert room.outcome(said) == "asked: unclear"


KEY = [f"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQKEYLINE{i:02d}" for i in range(25)]
LOG = [
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    *KEY,
    "-----END OPENSSH PRIVATE KEY-----",
    "auth with p&ssw<rd-77",
    '{"token": "abcdef123456"}',
    "curl -H 'Authorization: Bearer abcdef1234567890'",
    "max_new_tokens=96 evidence 3f9a1b2c4d5e",
]
SECRET = ("KEYLINE", "p&ssw", "p&amp;ssw", "abcdef")


def test_a_secret_in_a_log_reaches_no_post(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOX_SECRET", "p&ssw<rd-77")
    room.config.hosts["box1"].secrets.append("BOX_SECRET")
    room.tell("go")
    room.until(lambda: "r1-synth-1" in room.box.views or None, "it runs")
    log = "\n".join(LOG).encode()
    room.box.end("r1-synth-1", 1)
    tail = clean_tail(log, True, lines=10, width=300)
    view = replace(room.box.views["r1-synth-1"], log_tail=tail, log=log, log_size=len(log), log_offset=len(log))
    room.box.views["r1-synth-1"] = view
    room.until_phase("failed")
    assert "max_new_tokens=96 evidence 3f9a1b2c4d5e" in text(room.shown("/failed").card)
    shown = room.answer(room.say("logs"))
    assert "max_new_tokens=96 evidence 3f9a1b2c4d5e" in shown and MASK in shown
    room.answer(room.say("logs 8"))
    told = room.texts()
    assert any("Last log lines" in said for said in told)
    assert not [said for said in told if any(secret in said for secret in SECRET)]
    assert "KEYLINE" not in room.run().attempt("r1-synth-1").log_tail, "nor what is kept of it"
