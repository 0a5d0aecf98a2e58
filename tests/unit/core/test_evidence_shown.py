"""How evidence and results are told on a card."""

from dataclasses import replace
from datetime import UTC, datetime

from bot.core.attempt import Attempt
from bot.core.cards import Text
from bot.core.summary.evidence import parts
from bot.core.summary.results import result_parts

NOW = datetime(2026, 12, 1, tzinfo=UTC)

DIGEST = "0123456789ab" * 5 + "cdef"


def told(checks: list[dict[str, object]]) -> str:
    first = parts({"checks": checks, "bad": [], "subject": {"path": "/data"}, "digest": DIGEST})[0]
    assert isinstance(first, Text)
    return first.text


def check(name: str, ok: bool | None, found: object, expected: object = None, detail: str = "") -> dict[str, object]:
    return {"name": name, "ok": ok, "found": found, "expected": expected, "detail": detail}


def test_what_held_is_one_paragraph_with_the_bounds_it_was_measured_against() -> None:
    text = told([check("exit", True, 0, 0), check("recomputed", True, 2.7e-6, "at most 1e-04", "of 4 samples")])
    assert text.splitlines()[1:] == ["✔ *exit* 0 · *recomputed* 2.7e-06 (at most 1e-04)"]


def test_what_did_not_hold_comes_first_with_all_that_is_known() -> None:
    lines = told([check("exit", True, 0, 0), check("samples", False, 8512, 9000, "488 missing")]).splitlines()
    assert lines[1:] == ["✘ *samples* 8,512 (expected 9,000) · 488 missing", "✔ *exit* 0"]


def test_digests_are_shortened_and_long_strings_left_to_the_log() -> None:
    assert DIGEST[:12] in told([check("target", True, DIGEST)]) and DIGEST not in told([check("target", True, DIGEST)])
    attempt = Attempt(
        id="r1-train-1", stage="train", n=1, purpose="work", token="t", host="box1", started_by="ada", created_at=NOW,
        out="/data",
    )  # fmt: skip
    attempt = replace(attempt, result={"samples": 9000, "bytes": 2_000_000, "tokens_s": 71.5, "vocab_digest": DIGEST})
    (shown,) = result_parts(attempt)
    assert isinstance(shown, Text)
    assert shown.text == "samples *9,000* · bytes *2 MB* · tokens/s *71.5*"
