"""Gates that need two people, and orders that wait: who starts it, and what is shown meanwhile."""

import pytest

from bot.core import events
from bot.core.effects import DONE, REFUSED, Edit, Kill, React
from bot.core.model import Phase
from tests.unit.core.story import Story


def marks(story: Story, ts: str) -> list[str]:
    return [effect.name for effect in story.effects if isinstance(effect, React) and effect.ts == ts]


def test_an_order_that_counts_for_one_of_two_is_marked_and_shown() -> None:
    story = Story(needed=2)
    story.advance()
    story.begin()
    story.work()
    story.proof()
    story.work()
    story.advance(said=("C1", "1.5"))  # while its evidence is made
    story.proof()
    assert story.phase is Phase.WAITING and marks(story, "1.5") == [DONE]
    card = next(e.card for e in reversed(story.effects) if isinstance(e, Edit) and "/gate/vocab" in e.post)
    assert "1 more needed" in str(card)


@pytest.mark.parametrize("order", [events.Hold, events.Cancel])
def test_an_order_that_waits_no_more_is_marked_as_refused(order: type[events.Ordered]) -> None:
    story = Story()
    story.advance()
    story.begin()
    story.work()
    story.proof()
    story.work()
    story.advance(said=("C1", "1.5"))
    story.do(order)
    assert marks(story, "1.5") == [REFUSED]
    story.proof()
    assert marks(story, "1.5") == [REFUSED]


def test_what_outlives_one_cancel_is_ended_by_the_next() -> None:
    story = Story()
    story.to_gate_after_extract()
    story.advance()
    story.do(events.Hold)  # the look goes on, for nobody
    story.advance()
    story.proof()
    story.begin()
    for _ in range(2):
        story.do(events.Cancel)
        assert {e.attempt for e in story.effects if isinstance(e, Kill)} >= {
            "r1-extract-1.check1",
            story.launches()[-1],
        }
        story.seen("cancelled")
        story.do(events.Retry)
        story.begin()


def test_bench_it_at_its_gate_is_marked_once_it_is_carried_out() -> None:
    story = Story()
    story.to_gate_after_train()
    story.do(events.Bench, set={}, said=("C1", "2.5"))
    story.proof()
    assert marks(story, "2.5") == [DONE]


def test_two_people_who_both_say_bench_it_start_it() -> None:
    story = Story(bench_needed=2)
    story.to_gate_after_train()
    for by in ("UADA", "UBEN"):
        story.do(events.Bench, set={}, by=by)
    story.proof()
    story.begin()
    story.work()
    story.proof()
    assert story.phase is Phase.DONE
    for by in ("UADA", "UBEN"):
        story.do(events.Bench, set={"steps": 4}, by=by)
        assert (story.phase is Phase.WAITING) == (by == "UADA")
    story.proof()
    assert story.launches()[-1] == "r1-bench-2"
