"""Logs made readable, whatever they hold and wherever they are cut."""

import itertools
import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.logtext import LogText
from runner.protocol.logtext import clean_line, clean_tail


def test_characters_and_escapes_may_be_cut_anywhere() -> None:
    raw = "grün \x1b[31mrot\x1b[0m \x1b]0;title\x07ende\nEpoch 1\rEpoch 2\r\nlast".encode()
    whole = LogText()
    assert whole.feed(raw) == ["grün rot ende", "Epoch 2"]
    assert whole.unfinished == "last"
    for cut in range(len(raw)):
        text = LogText()
        assert text.feed(raw[:cut]) + text.feed(raw[cut:]) == ["grün rot ende", "Epoch 2"]


@settings(max_examples=50)
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_where_it_is_cut_makes_no_difference(raw: bytes, cuts: list[int]) -> None:
    whole, pieces = LogText(), LogText()
    lines = whole.feed(raw)
    places = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    fed = [line for a, b in itertools.pairwise(places) for line in pieces.feed(raw[a:b])]
    assert fed == lines
    assert pieces.unfinished == whole.unfinished


@settings(max_examples=50)
@given(st.binary(max_size=300))
def test_nothing_that_steers_a_terminal_comes_through(raw: bytes) -> None:
    shown = clean_tail(raw, whole=True, lines=20, width=400)
    assert all(
        character == "\n" or character.isprintable() or ord(character) > 0x9F for character in shown.replace("\t", "")
    )


def test_a_start_within_a_character_shows_no_rubbish() -> None:
    text = LogText(started_inside=True)
    assert text.feed("ä\n".encode()[1:]) == [""]


def test_a_giant_line_costs_no_memory() -> None:
    text = LogText()
    tracemalloc.start()
    for _ in range(480):
        text.feed(b"x" * 65536)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    (line,) = text.feed(b"\nafter")
    assert len(line) < 2200 and line.endswith("characters)")
    assert text.unfinished == "after"


def test_a_progress_bar_of_many_megabytes_is_its_last_state() -> None:
    text = LogText()
    for step in range(20000):
        assert text.feed(b"\r%5d/20000 " % step + b"#" * 50) == []
    assert text.feed(b"\n") == ["19999/20000 " + "#" * 50]


def test_a_tail_drops_the_line_it_starts_within() -> None:
    assert clean_tail(b"half\nwhole\nlast\n", whole=False, lines=5, width=80) == "whole\nlast"
    assert clean_tail(b"only one", whole=False, lines=5, width=80) == "only one"
    assert clean_tail(b"a\nb\nc", whole=True, lines=2, width=80) == "b\nc"


def test_sequences_of_all_kinds_are_taken_out() -> None:
    for raw in ("\x1b[2K", "\x1b[1;31m", "\x1b]8;;http://x\x1b\\", "\x1bP1$r\x1b\\", "\x1b(B", "\x1b=", "\0", "\x07"):
        assert clean_line(f"a{raw}b") == "ab", repr(raw)
    assert clean_line("a\x1b[3") == "a"
