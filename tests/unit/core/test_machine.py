"""The transition table: what starts, when, and what never does."""

from typing import Any

import pytest

from bot.core import events
from bot.core.attempt import AttemptState
from bot.core.effects import Edit, Kill, Post
from bot.core.errors import WrongState
from bot.core.machine.table import TABLE
from bot.core.model import Phase
from tests.unit.core.story import Story, evidence


@pytest.fixture
def story() -> Story:
    return Story()


def test_a_planned_run_waits_and_starts_nothing(story: Story) -> None:
    assert (story.phase, story.launches()) == (Phase.WAITING, [])
    assert story.posts()[0] == "r1/status"


def test_go_starts_the_first_stage_after_the_undo_window(story: Story) -> None:
    story.advance()
    assert story.phase is Phase.STARTING and story.launches() == ["r1-synth-1"]
    story.begin()
    assert (story.phase, story.run.at, story.run.gate) == (Phase.RUNNING, "synth", None)


def test_exit_0_is_not_enough_the_evidence_is_made_first(story: Story) -> None:
    story.advance()
    story.begin()
    story.work()
    assert story.phase is Phase.VERIFYING and story.launches()[-1] == "r1-synth-1.verify1"
    story.proof()
    assert story.launches()[-1] == "r1-extract-1", "extract follows synth without a gate"


def test_the_gate_after_extract_leads_through_vocab_to_train(story: Story) -> None:
    story.to_gate_after_extract()
    assert story.phase is Phase.WAITING and story.run.gate is not None
    assert (story.run.gate.after, story.run.gate.before, story.run.gate.leads_to) == ("extract", "vocab", "train")
    story.advance()
    assert story.phase is Phase.CHECKING and story.launches()[-1] == "r1-extract-1.check1"
    story.proof()
    assert story.phase is Phase.STARTING and story.launches()[-1] == "r1-vocab-1"
    story.begin()
    story.work()
    story.proof()
    assert story.launches()[-1] == "r1-train-1", "one continue leads to train"


def test_evidence_that_went_bad_since_the_gate_opened_starts_nothing(story: Story) -> None:
    story.to_gate_after_extract()
    story.advance()
    story.proof(ok=False)
    assert story.phase is Phase.BLOCKED and story.launches()[-1] == "r1-extract-1.check1"
    with pytest.raises(WrongState):
        story.advance()


@pytest.mark.parametrize("found", [None, {"version": 1, "junk": True}, {"version": 2}])
def test_evidence_that_cannot_be_read_blocks(story: Story, found: dict[str, object] | None) -> None:
    story.advance()
    story.begin()
    story.work()
    story.seen("exited", rc=0, evidence=found)
    assert story.phase is Phase.BLOCKED


def test_a_verify_that_crashes_blocks_whatever_it_wrote(story: Story) -> None:
    story.advance()
    story.begin()
    story.work()
    story.seen("exited", rc=1, evidence=evidence("synth"))
    assert story.phase is Phase.BLOCKED


def test_wait_within_the_undo_window_takes_the_start_back(story: Story) -> None:
    story.to_gate_after_extract()
    story.advance()
    story.proof()
    story.do(events.Hold)
    assert story.phase is Phase.HELD and "r1-vocab-1" not in story.launches()
    assert story.run.attempt("r1-vocab-1").state is AttemptState.WITHDRAWN
    story.advance()
    story.proof()
    assert story.launches()[-1] == "r1-vocab-2", "the next start is an attempt of its own"


def test_hold_during_the_last_check_starts_nothing(story: Story) -> None:
    story.to_gate_after_extract()
    story.advance()
    story.do(events.Hold)
    assert story.phase is Phase.HELD
    story.proof()
    assert story.phase is Phase.HELD and story.launches()[-1] == "r1-extract-1.check1"


def test_an_order_during_verification_waits_for_the_proof(story: Story) -> None:
    story.advance()
    story.begin()
    story.work()
    story.proof()
    story.work()
    assert story.phase is Phase.VERIFYING and story.run.at == "extract"
    story.advance()
    assert story.run.armed is not None and story.launches()[-1] == "r1-extract-1.verify1"
    story.proof()
    assert story.phase is Phase.STARTING and story.launches()[-1] == "r1-vocab-1"


def test_an_armed_order_is_void_when_the_proof_fails(story: Story) -> None:
    story.advance()
    story.begin()
    story.work()
    story.proof()
    story.work()
    story.advance()
    story.proof(ok=False)
    assert story.phase is Phase.BLOCKED and story.run.armed is None


def test_the_second_of_two_operators_starts_nothing(story: Story) -> None:
    story.to_gate_after_extract()
    story.advance(by="UONE")
    with pytest.raises(WrongState):
        story.advance(by="UTWO")
    story.proof()
    assert story.launches().count("r1-vocab-1") == 1
    assert story.run.starting is not None and story.run.starting.by == "UONE"


def test_two_different_people_are_needed_where_the_gate_says_so() -> None:
    story = Story(needed=2)
    story.to_gate_after_extract()
    story.advance(by="UONE")
    assert story.phase is Phase.WAITING
    story.advance(by="UONE")
    assert story.phase is Phase.WAITING, "the same person twice is one person"
    story.advance(by="UTWO")
    assert story.phase is Phase.CHECKING


def test_settings_reach_the_stage_that_the_gate_leads_to(story: Story) -> None:
    story.to_gate_after_extract()
    story.advance(set={"lr": 2e-4})
    story.proof()
    story.begin()
    story.work()
    story.proof()
    assert story.last().settings == {"lr": 2e-4}


def test_a_setting_that_no_coming_stage_has_is_refused(story: Story) -> None:
    story.to_gate_after_extract()
    with pytest.raises(WrongState, match="steps"):
        story.advance(set={"steps": 5})
    assert story.phase is Phase.WAITING


def test_a_failed_stage_waits_for_a_retry(story: Story) -> None:
    story.advance()
    story.begin()
    story.work(rc=3)
    assert story.phase is Phase.FAILED
    story.do(events.Retry)
    assert story.phase is Phase.STARTING and story.launches()[-1] == "r1-synth-2"


def test_lost_is_a_failure_unreachable_is_not(story: Story) -> None:
    story.advance()
    story.begin()
    story.seen("running")
    story.do(events.Unreachable, attempt="r1-synth-1", why="no answer")
    assert story.phase is Phase.RUNNING and story.last().state is AttemptState.UNKNOWN
    assert story.do(events.Unreachable, attempt="r1-synth-1", why="no answer") == (), "told once"
    story.seen("running")
    assert story.last().state is AttemptState.RUNNING and story.last().unknown_since is None
    story.seen("lost", why="host rebooted")
    assert story.phase is Phase.FAILED


def test_an_absent_attempt_is_lost_only_after_it_was_launched(story: Story) -> None:
    story.advance()
    story.begin()
    story.seen("absent")
    assert story.phase is Phase.RUNNING and story.last().state is AttemptState.LAUNCHING
    story.seen("running")
    story.seen("absent")
    assert story.phase is Phase.FAILED and story.last().state is AttemptState.LOST


@pytest.mark.parametrize("values", [{}, {"lr": 2e-4}])
def test_a_retry_with_other_values_needs_the_two_people_of_the_gate_that_leads_there(values: dict[str, float]) -> None:
    story = Story(needed=2)  # before vocab, which leads to train
    story.to_gate_after_extract()
    for by in ("UA", "UB"):
        story.advance(by=by)
    story.proof()
    story.begin()
    story.work()
    story.proof()
    story.work(rc=1)
    assert (story.phase, story.run.at) == (Phase.FAILED, "train")
    story.do(events.Retry, by="UA", set=values)
    if not values:
        assert story.launches()[-1] == "r1-train-2", "what two passed may be tried again by one"
        return
    assert story.phase is Phase.WAITING and story.run.gate is not None and story.run.gate.before == "vocab"
    assert story.launches()[-1] == "r1-train-1"
    story.advance(by="UB")
    story.proof()
    story.begin()
    assert story.last().id == "r1-vocab-2"
    story.work()
    story.proof()
    assert story.last().id == "r1-train-2" and story.last().settings == values


def test_what_is_lost_is_told_with_its_last_lines_and_what_a_retry_goes_on_from(story: Story) -> None:
    """Though its folder is gone from the host, as after a restart with a folder in memory."""
    story.advance()
    story.begin()
    status = {"version": 1, "state": "running", "resume": "the checkpoint of step 400 of 1000"}
    story.seen("running", log="größe\nstep 41".encode(), log_offset=15, status=status)
    assert (story.last().log_tail, story.last().log_offset) == ("größe", 8), "the line that has not ended is read again"
    story.seen("running", log=b"step 410\n\x1b[1mstep 4", log_offset=27)
    story.seen("absent")
    assert story.phase is Phase.FAILED and story.last().state is AttemptState.LOST
    shown = str(story.effects[-1])
    assert "größe\\nstep 410" in shown and "A retry goes on from the checkpoint of step 400 of 1000" in shown


def test_cancel_is_asked_once_more_then_kills(story: Story) -> None:
    story.advance()
    story.begin()
    story.seen("running")
    story.do(events.AskCancel)
    assert story.phase is Phase.RUNNING and not any(isinstance(e, Kill) for e in story.effects)
    story.do(events.Decline)
    assert story.run.question is None
    story.do(events.AskCancel)
    story.do(events.Cancel)
    assert story.phase is Phase.CANCELLING
    assert [e.attempt for e in story.effects if isinstance(e, Kill)] == ["r1-synth-1"]
    story.seen("cancelled")
    assert story.phase is Phase.CANCELLED
    story.do(events.Retry)
    assert story.launches()[-1] == "r1-synth-2"


def test_a_host_that_refuses_the_launch_fails_the_stage(story: Story) -> None:
    story.advance()
    story.begin()
    story.do(events.LaunchRefused, attempt="r1-synth-1", why="no space left")
    assert story.phase is Phase.FAILED and story.last().state is AttemptState.REFUSED


@pytest.mark.parametrize("seen", [{"pid": 4711}, {"started_at": "2026-01-01T00:00:00Z"}])
def test_a_launch_that_was_seen_to_run_is_not_refused_afterwards(story: Story, seen: dict[str, Any]) -> None:
    story.advance()
    story.begin()
    story.seen("running", **seen)
    assert story.do(events.LaunchRefused, attempt="r1-synth-1", why="no space left") == ()
    story.do(events.Unreachable, attempt="r1-synth-1", why="the link broke")
    story.do(events.LaunchRefused, attempt="r1-synth-1", why="no space left")
    assert story.phase is Phase.RUNNING and story.last().state is AttemptState.UNKNOWN


def test_a_launch_that_was_only_seen_under_way_can_be_refused(story: Story) -> None:
    story.advance()
    story.begin()
    story.seen("queued", why="being launched")
    story.do(events.LaunchRefused, attempt="r1-synth-1", why="no space left")
    assert story.phase is Phase.FAILED and story.last().state is AttemptState.REFUSED


def test_all_stages_lead_to_done_and_bench_again_is_a_further_attempt(story: Story) -> None:
    story.to_done()
    assert story.phase is Phase.DONE
    story.do(events.Bench, set={"steps": 5})
    assert story.phase is Phase.STARTING and story.last().settings == {"steps": 5}
    assert story.last().out != story.run.attempt("r1-bench-1").out, "results are kept side by side"
    story.begin()
    story.work()
    story.proof()
    assert story.phase is Phase.DONE and "r1/done/bench/2" in story.posts()


def test_taking_a_second_benchmark_back_leaves_the_run_done(story: Story) -> None:
    story.to_done()
    story.do(events.Bench, set={})
    story.do(events.Hold)
    assert story.phase is Phase.DONE


def test_bench_it_passes_the_gate_before_the_benchmark_and_no_other(story: Story) -> None:
    with pytest.raises(WrongState):
        story.do(events.Bench, set={})
    story.to_gate_after_train()
    story.do(events.Bench, set={"steps": 4})
    story.proof()
    assert story.last().id == "r1-bench-1" and story.last().settings == {"steps": 4}


def test_a_waiver_opens_the_gate_but_does_not_pass_it(story: Story) -> None:
    story.advance()
    story.begin()
    story.work()
    story.proof()
    story.work()
    story.proof(ok=False)
    story.do(events.Waive, reason="9 are enough")
    assert story.phase is Phase.WAITING and story.run.stage("extract").state == "waived"
    story.advance()
    assert story.phase is Phase.STARTING, "a waived stage is not checked again"


def test_what_is_known_of_an_ended_attempt_is_never_overwritten(story: Story) -> None:
    story.advance()
    story.begin()
    story.work(rc=3)
    before = story.run
    story.seen("running")
    assert story.run.attempt("r1-synth-1") == before.attempt("r1-synth-1")


def test_every_event_is_in_the_table_and_gate_cards_name_whom_they_wait_for(story: Story) -> None:
    kinds = {k for k in vars(events).values() if isinstance(k, type) and issubclass(k, events.Event)}
    assert set(TABLE) == kinds - {events.Event, events.Ordered}
    story.to_gate_after_extract()
    card = next(e.card for e in reversed(story.effects) if isinstance(e, Post) and "/gate/vocab" in e.key)
    assert set(card.mentions) == {"UOWNER", "UOP"}


def test_a_cancel_that_the_stages_end_overtook_is_asked_no_more(story: Story) -> None:
    story.advance()
    story.begin()
    story.seen("running", pid=4711)
    story.do(events.AskCancel)
    asked = story.run.question
    assert asked is not None
    story.seen("exited", rc=0)
    assert story.run.question is None
    card = next(e for e in story.effects if isinstance(e, Edit) and e.post == f"r1/cancel/{asked.version}")
    assert "Nothing was cancelled" in card.card.fallback
