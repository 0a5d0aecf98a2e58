"""The cursor of what was heard: never past a gap, whatever comes first."""

import threading
from collections.abc import Iterable
from dataclasses import replace

import pytest

from bot.cli import hearing
from bot.cli.hearing import CURSOR, DIRECT, Ears, Hearing
from bot.core.inbound import InboundEvent
from bot.errors import ChatUnavailable, StoreUnavailable


class Kept(dict[str, str]):
    """The store's cursors."""

    def cursor(self, name: str) -> str | None:
        return self.get(name)

    def set_cursor(self, name: str, value: str) -> None:
        self[name] = value


def said(ts: str) -> InboundEvent:
    return InboundEvent(
        kind="message", team="T1", channel="C1", channel_type="channel", user="U1", ts=ts, event_ts=ts, text="go"
    )


class Ear:
    """A Hearing whose catch-up waits until it is told what was missed."""

    def __init__(self, cursor: str | None, name: str = CURSOR) -> None:
        self.kept = Kept({name: cursor} if cursor else {})
        self.stored: list[str] = []
        self.asked: list[str] = []
        self.may_answer = threading.Event()
        self.answers: list[list[InboundEvent] | ChatUnavailable] = []
        self.hearing = Hearing(self.kept, lambda event: self.stored.append(event.ts), self._missed, name)

    def _missed(self, since: str) -> Iterable[InboundEvent]:
        self.asked.append(since)
        self.may_answer.wait(5)
        answer = self.answers.pop(0)
        if isinstance(answer, ChatUnavailable):
            raise answer
        return answer

    def finish(self) -> None:
        self.may_answer.set()
        for thread in threading.enumerate():
            if thread.name == "catch-up":
                thread.join(5)


def test_what_is_heard_before_the_catch_up_ends_does_not_hide_the_gap() -> None:
    ear = Ear("100.0")
    ear.answers = [[said("200.0"), said("300.0")]]
    ear.hearing.cut_off()
    ear.hearing.hear(said("9000.0"))  # on the new connection, before anybody asked what was missed
    ear.hearing.connected()
    ear.hearing.hear(said("9001.0"))
    assert ear.kept[CURSOR] == "100.0", "a bot killed now looks at the gap again"
    ear.finish()
    assert ear.asked == ["100.0"] and ear.stored == ["9000.0", "9001.0", "200.0", "300.0"]
    assert ear.kept[CURSOR] == "9001.0"
    ear.hearing.hear(said("9002.0"))
    assert ear.kept[CURSOR] == "9002.0"


def test_a_catch_up_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hearing, "AGAIN_S", (0.01,))
    ear = Ear("100.0")
    ear.answers = [ChatUnavailable("timeout"), ChatUnavailable("timeout"), [said("200.0")]]
    ear.may_answer.set()
    ear.hearing.cut_off()
    ear.hearing.connected()
    ear.finish()
    assert ear.asked == ["100.0"] * 3 and ear.stored == ["200.0"] and ear.kept[CURSOR] == "200.0"


def test_a_database_that_is_away_during_the_catch_up_leaves_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hearing, "AGAIN_S", (0.01,))
    ear = Ear("100.0")
    ear.answers = [[said("200.0"), said("300.0")]] * 2
    ear.may_answer.set()
    away = iter([None, OSError("the database is away")])

    def store(event: InboundEvent) -> None:
        if error := next(away, None):
            raise error
        ear.stored.append(event.ts)

    ear.hearing = Hearing(ear.kept, store, ear._missed)
    ear.hearing.cut_off()
    ear.hearing.connected()
    ear.finish()
    assert ear.stored == ["200.0", "200.0", "300.0"] and ear.kept[CURSOR] == "300.0"  # repeats are told by their keys


def test_a_second_cut_during_the_catch_up_keeps_the_cursor() -> None:
    ear = Ear("100.0")
    ear.answers = [[said("200.0")], [said("200.0"), said("400.0")]]
    ear.hearing.cut_off()
    ear.hearing.connected()
    ear.hearing.cut_off()
    ear.finish()
    assert ear.kept[CURSOR] == "100.0", "what was said during the second cut is not known yet"
    ear.hearing.connected()
    ear.finish()
    assert ear.asked == ["100.0", "100.0"] and ear.kept[CURSOR] == "400.0"


def test_the_first_start_of_all_begins_now() -> None:
    ear = Ear(None)
    ear.hearing.connected()
    ear.finish()
    assert ear.asked == [] and float(ear.kept[CURSOR]) > 1.7e9


def test_a_catch_up_of_direct_messages_that_fails_holds_up_no_cursor_but_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hearing, "AGAIN_S", (5.0,))
    channels, direct = Ear("100.0"), Ear("100.0", DIRECT)
    channels.answers, direct.answers = [[said("200.0")]], [ChatUnavailable("timeout")]
    ears = Ears(channels.hearing, direct.hearing)
    ears.cut_off()
    ears.connected()
    ears.hear(said("300.0"))
    ears.hear(replace(said("301.0"), channel_type="im"))
    channels.may_answer.set()
    direct.may_answer.set()
    ears.stop()
    channels.finish()
    assert (channels.stored, channels.kept) == (["300.0", "200.0"], {CURSOR: "300.0"})
    assert (direct.stored, direct.kept) == (["301.0"], {DIRECT: "100.0"})


def test_what_could_not_be_stored_is_caught_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chat delivers it a few times more, then never again; what comes after it must not hide it."""
    monkeypatch.setattr(hearing, "AGAIN_S", (0.01,))
    ear, away = Ear("100.0"), threading.Event()
    stored, cursor = ear.stored.append, ear.kept.cursor

    def receive(event: InboundEvent) -> None:
        if away.is_set():
            raise StoreUnavailable("the database: connection refused")
        stored(event.ts)

    def look(name: str) -> str | None:
        if away.is_set():
            raise StoreUnavailable("the database: connection refused")
        return cursor(name)

    monkeypatch.setattr(ear.hearing, "_receive", receive)
    monkeypatch.setattr(ear.kept, "cursor", look)
    ear.answers = [[], *[[said("200.0"), said("201.0")]] * 2]  # two look, if both come to it
    ear.may_answer.set()
    ear.hearing.cut_off()
    ear.hearing.connected()
    ear.finish()
    away.set()
    for ts in ("200.0", "201.0"):
        with pytest.raises(StoreUnavailable):
            ear.hearing.hear(said(ts))
    away.clear()
    ear.hearing.hear(said("300.0"))
    ear.finish()
    assert set(ear.stored) == {"200.0", "201.0", "300.0"}
    assert ear.kept[CURSOR] == "300.0"
