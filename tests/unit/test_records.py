"""What a host tells is made plain where it enters: no odd record gets any further."""

import json
from typing import Any

import pytest

from runner.protocol.errors import ProtocolError
from runner.protocol.evidence import Bad, Check, Evidence, Subject
from runner.protocol.view import UNREADABLE, AttemptView, host_view_from_json, to_json

FACTS = {"boot_id": "b", "hostname": "h", "at": "now", "free_bytes": 1, "total_bytes": 2, "load": 0.5, "python": "3.8"}
GOOD = {
    "state": "running",
    "progress": {"done": 3, "total": 10, "unit": "samples"},
    "rates": {"tokens_s": 2.5},
    "eta_s": {"low": 1, "likely": 2, "high": 3},
    "disk": {"used": 1, "projected": 2, "free": 3},
    "message": "at work",
    "error": {"kind": "DataError", "message": "boom", "hint": "mend it"},
}


def told(**fields: Any) -> AttemptView:
    """As it comes over the wire."""
    attempt = {"attempt": "r1-synth-1", "state": "running"} | fields
    answer = json.loads(json.dumps({"facts": FACTS, "attempts": [attempt]}))
    return host_view_from_json(answer, b"").attempts[0]


def test_what_is_as_agreed_stays_as_it_is() -> None:
    proof = Evidence("synth", Subject("/data", "d"), [Check("exit", True, 0, 0)], [Bad("s1", "cut")]).to_json()
    view = told(status=GOOD, evidence=proof, result={"samples": 9, "nested": [1, {"a": None}]}, rc=0, pid=7, cpu_s=1.5)
    assert (view.status, view.evidence, view.problems) == (GOOD, proof, [])
    assert view.result == {"samples": 9, "nested": [1, {"a": None}]} and (view.rc, view.pid, view.cpu_s) == (0, 7, 1.5)
    assert to_json(AttemptView(**{k: v for k, v in to_json(view).items() if k != "log_bytes"})) == to_json(view)


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("progress", [1, 2]),
        ("progress", {"done": float("nan"), "total": 10}),
        ("progress", {"done": True}),
        ("progress", {"done": 10**400}),
        ("eta_s", [1, 2]),
        ("rates", "fast"),
        ("disk", 5),
        ("message", {"a": 1}),
        ("error", 7),
    ],
)
def test_an_odd_field_of_a_status_is_left_out_and_named(name: str, odd: object) -> None:
    view = told(status=GOOD | {name: odd})
    assert view.status == {k: v for k, v in GOOD.items() if k != name}
    assert view.problems == [f"status.json: {name} is not as agreed"]


def test_an_odd_entry_takes_only_itself_away() -> None:
    status = GOOD | {
        "disk": {"used": 1, "projected": "much", "free": float("inf")},
        "eta_s": {"likely": float("nan"), "low": 1},
        "progress": {"done": 1, "total": "ten", "unit": 5},
        "error": "boom",
    }
    view = told(status=status)
    assert view.status is not None
    assert view.status["disk"] == {"used": 1} and view.status["eta_s"] == {"low": 1}
    assert view.status["progress"] == {"done": 1, "total": None, "unit": ""}
    assert view.status["error"] == {"kind": "error", "message": "boom"}


def test_metrics_keep_finite_numbers_alone() -> None:
    line = '{"step": 3, "loss": NaN, "lr": 1e400, "big": 1%s, "at": "now", "ok": true, "acc": 0.5}' % ("0" * 400)
    view = told(metrics=[json.loads(line), [1]])
    assert view.metrics == [{"step": 3.0, "acc": 0.5}, {}]


def test_texts_can_be_stored() -> None:
    view = told(why="a\udc80", log_tail="b\x00", status={"message": "c\ud800"}, result={"d\udfff": ["e\udc00"]})
    told_now = json.dumps(to_json(view), ensure_ascii=False).encode()
    assert view.why == "a\ufffd" and b"\\u0000" not in told_now


def test_nothing_is_nested_without_end() -> None:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    assert "nested too deeply" in json.dumps(told(result={"a": deep}).result)


@pytest.mark.parametrize("field", ["status", "evidence", "result"])
def test_what_is_no_object_is_as_if_it_were_absent(field: str) -> None:
    view = told(**{field: [1]})
    assert getattr(view, field) is None and len(view.problems) == 1


@pytest.mark.parametrize(
    "odd", [{"rc": "0"}, {"rc": True}, {"pid": 1.5}, {"started_at": 7}, {"cpu_s": "x"}, {"cpu_s": float("nan")}]
)
def test_damage_to_the_supervisors_own_records_leaves_nothing_known(odd: dict[str, Any]) -> None:
    view = told(**({"state": "exited"} | odd))
    [name] = odd
    assert view.state == UNREADABLE and getattr(view, name) is None
    assert view.why.startswith(f"its records cannot be read: {name} is ")


@pytest.mark.parametrize(
    "odd",
    [
        Evidence("x", Subject("/d"), [Check("samples", "no", 1, 10)]),  # type: ignore[arg-type]
        Evidence("x", Subject("/d"), [Check("samples", 1, 1, 1)]),  # type: ignore[arg-type]
        Evidence("x", Subject("/d"), [Check(None, True, 1, 1)]),  # type: ignore[arg-type]
        Evidence("x", Subject(None), [Check("samples", True, 1, 1)]),  # type: ignore[arg-type]
        Evidence("x", Subject("/d"), [Check("samples", True)], pictures=[1]),  # type: ignore[list-item]
        Evidence("x", Subject("/d"), [Check("samples", False)], [Bad(None, None)]),  # type: ignore[arg-type]
        Evidence(5, Subject("/d"), [Check("samples", True)]),  # type: ignore[arg-type]
    ],
)
def test_evidence_of_other_types_is_refused(odd: Evidence) -> None:
    with pytest.raises(ProtocolError):
        Evidence.from_json(odd.to_json())
    view = told(state="exited", evidence=odd.to_json())
    assert view.evidence is None and view.problems[0].startswith("evidence.json: ")


def test_only_true_proves() -> None:
    for ok in ("no", 1, "true", [0]):
        assert Evidence("x", Subject("/d"), [Check("samples", ok)]).verdict == "unsettled"  # type: ignore[arg-type]
    assert Evidence("x", Subject("/d"), [Check("samples", True)]).verdict == "proven"


def test_evidence_with_nan_and_odd_texts_keeps_its_verdict() -> None:
    made = Evidence("x", Subject("/d"), [Check("recomputed", False, float("nan"), "at most 1e-4", "a\udc80")])
    kept = told(state="exited", evidence=made.to_json()).evidence
    assert kept is not None and kept["verdict"] == "contradicted"
    assert (kept["checks"][0]["found"], kept["checks"][0]["detail"]) == ("nan", "a\ufffd")
    assert Evidence.from_json(json.loads(json.dumps(kept))).to_json() == kept
