"""Adopting as a step of the run: what counts as made, what as proof, and whose gate it is."""

import pytest

from bot.core import events
from bot.core.attempt import AttemptState
from bot.core.effects import Adopt, Launch, Post
from bot.core.errors import WrongState
from bot.core.model import Phase
from runner.protocol.view import AttemptView
from tests.unit.core.story import Story, evidence

FOLDER = {"host": "box2", "out": "/data/hs", "about": "a folder of 12 GB, 10 files"}
PROCESS = FOLDER | {"process": {"pid": 4711, "start_ticks": 9, "boot_id": "b"}}


def test_a_folder_is_verified_where_it_lies_and_opens_the_gate() -> None:
    story = Story()
    story.do(events.Adopt, stage="extract", **FOLDER)
    assert (story.phase, story.launches()) == (Phase.VERIFYING, ["r1-extract-1.verify1"])
    assert (story.last().host, story.last().out) == ("box2", "/data/hs")
    story.proof()
    assert story.phase is Phase.WAITING and story.run.gate is not None and story.run.gate.before == "vocab"
    assert [stage.state for stage in story.run.stages[:3]] == ["waived", "proven", "pending"]
    card = next(e for e in reversed(story.effects) if isinstance(e, Post) and "/gate/vocab" in e.key).card
    assert card.title == "r1: extract adopted" and "12 GB" in repr(card.parts)
    made = story.run.stage("extract").evidence
    assert made is not None and [check["name"] for check in made["checks"]] == ["samples"]


def test_what_contradicts_is_not_proven_and_can_be_adopted_anew() -> None:
    story = Story()
    story.do(events.Adopt, stage="extract", **FOLDER)
    story.proof(ok=False)
    assert story.phase is Phase.BLOCKED
    story.do(events.Adopt, stage="extract", **(FOLDER | {"out": "/data/other"}))
    assert story.run.current is not None and (story.run.current.n, story.run.current.out) == (2, "/data/other")
    story.proof()
    assert story.run.stage("extract").state == "proven"


def test_evidence_with_a_failed_attempt_counts_for_nothing() -> None:
    story = Story()
    story.do(events.Adopt, stage="extract", **FOLDER)
    story.seen("exited", rc=3, evidence=evidence("extract"))
    assert story.phase is Phase.BLOCKED


def test_a_process_is_watched_until_its_end_and_then_verified() -> None:
    story = Story()
    story.to_gate_after_extract()
    effects = story.do(events.Adopt, stage="train", **PROCESS)
    assert [e.process for e in effects if isinstance(e, Adopt)] == [PROCESS["process"]]
    assert not [e for e in effects if isinstance(e, Launch)], "nothing is started"
    attempt = story.run.attempt("r1-train-1")
    assert (story.phase, attempt.state, attempt.host) == (Phase.RUNNING, AttemptState.LAUNCHING, "box2")
    view = AttemptView(attempt.id, "running", attempt.token, pid=4711)
    story.do(events.Seen, view=view)
    story.do(events.Seen, view=AttemptView(attempt.id, "exited", attempt.token, rc=None))
    assert story.phase is Phase.VERIFYING
    story.proof()
    assert story.run.gate is not None and story.run.gate.before == "bench"
    assert story.run.stage("vocab").state == "waived"


def test_a_process_that_is_lost_or_gone_before_it_was_watched_fails_the_stage() -> None:
    for event in ("lost", "refused"):
        story = Story()
        story.to_gate_after_extract()
        story.do(events.Adopt, stage="train", **PROCESS)
        attempt = story.run.attempt("r1-train-1")
        if event == "lost":
            story.do(events.Seen, view=AttemptView(attempt.id, "lost", attempt.token, why="the host was restarted"))
        else:
            story.do(events.LaunchRefused, attempt=attempt.id, why="pid 4711 has ended")
        assert story.phase is Phase.FAILED, event


def test_nothing_is_adopted_while_something_runs() -> None:
    story = Story()
    story.advance()
    for _ in range(2):
        with pytest.raises(WrongState):
            story.do(events.Adopt, stage="extract", **FOLDER)
        story.begin()


def test_adopting_passes_no_gate_that_needs_two() -> None:
    story = Story(needed=2)
    with pytest.raises(WrongState, match="more than one person"):
        story.do(events.Adopt, stage="vocab", **FOLDER)
    story.do(events.Adopt, stage="train", **FOLDER)
    assert story.phase is Phase.VERIFYING, "behind it is a gate of its own"


def test_a_retry_after_it_runs_the_stage_itself() -> None:
    story = Story()
    story.do(events.Adopt, stage="extract", **FOLDER)
    story.proof(ok=False)
    story.do(events.Retry)
    assert (story.last().id, story.last().host, story.last().adopted) == ("r1-extract-2", "box1", "")


def test_a_cleanup_is_noted_and_only_taken_when_the_run_is_over() -> None:
    story = Story()
    gone = {"bytes": 3 * 10**9, "hosts": ("box1",), "left": ("box1:/x, used by r2 extract",)}
    with pytest.raises(WrongState):
        story.do(events.Cleaned, **gone)
    story.to_done()
    story.do(events.Cleaned, **gone)
    assert story.run.cleaned is not None and story.run.cleaned.by == "UOP"
    assert story.posts()[-1].startswith("r1/cleaned/")
