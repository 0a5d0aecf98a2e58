"""What `help` says can be said now can be said now: every example of it is understood at that moment."""

import json
import re
from collections.abc import Callable

import pytest

from bot.core import events
from bot.core.inbound import InboundEvent
from bot.core.reading import Intent, Kind, read
from bot.core.summary.help import help_card
from bot.service import context
from tests.scenario.room import BOT, pipeline
from tests.unit.core.story import Story

# What a person would put in the place of the dots; an example with a capitalised word is a pattern, not an order.
FILLED = {"waive because …": "waive because nine are plenty", "lr …": "lr 2e-4", "steps …": "steps 5"}
FILLED |= {"max samples …": "max samples 12"}


def held(story: Story) -> None:
    story.do(events.Hold)


def starting(story: Story) -> None:
    story.advance()


def running(story: Story) -> None:
    story.advance()
    story.begin()


def armed(story: Story) -> None:
    running(story)
    story.do(events.Arm)


def checking(story: Story) -> None:
    story.to_gate_after_extract()
    story.advance()


def failed(story: Story) -> None:
    running(story)
    story.work(rc=1)


def blocked(story: Story) -> None:
    running(story)
    story.work()
    story.proof(ok=False)


MOMENTS: dict[str, Callable[[Story], None]] = {
    "the plan": lambda _: None,
    "held": held,
    "starting": starting,
    "running": running,
    "armed": armed,
    "a gate": Story.to_gate_after_extract,
    "checking": checking,
    "failed": failed,
    "blocked": blocked,
    "before the benchmark": Story.to_gate_after_train,
    "done": Story.to_done,
}


def story_at(moment: str) -> Story:
    story = Story()
    story.pipeline = pipeline()
    MOMENTS[moment](story)
    return story


def examples(story: Story) -> list[str]:
    card = json.dumps(help_card(story.run, story.pipeline), default=vars, ensure_ascii=False)
    said = [FILLED.get(text, text) for text in re.findall(r"`([^`]+)`", card)]
    return [text for text in dict.fromkeys(said) if not re.search(r"\b[A-Z]{4,}\b", text)]


def kinds(story: Story, text: str) -> set[Kind]:
    return {intent.kind for intent in readings(story, text)}


def readings(story: Story, text: str) -> tuple[Intent, ...]:
    ts = f"{story.now.timestamp():.6f}"
    event = InboundEvent(
        kind="message", team="T1", channel="C1", channel_type="channel", user="UOP", ts=ts, event_ts=ts, text=text
    )
    moment = context.build(
        event,
        runs=[story.run],
        pipelines={"eagle": story.pipeline},
        hosts=("box1",),
        thread_run="r1",
        bot_user=BOT,
        allowed=True,
        card_is_last=True,
        quiet=True,
        edited=None,
        which=None,
        now=story.now,
    )
    return read(text, moment)


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_example_is_understood_when_it_is_shown(moment: str) -> None:
    story = story_at(moment)
    said = examples(story)
    assert len(said) >= 4
    assert not [text for text in said if Kind.IGNORE in kinds(story, text)]


@pytest.mark.parametrize("moment", ["the plan", "a gate", "before the benchmark"])
def test_a_gates_word_is_in_its_help_and_passes_it(moment: str) -> None:
    story = story_at(moment)
    word = "continue" if story.run.gate and story.run.gate.after else "go"
    assert word in examples(story)
    assert kinds(story, word) == {Kind.ADVANCE}


def test_values_are_shown_as_they_are_now() -> None:
    story = Story()
    story.pipeline = pipeline()
    story.do(events.Override, set={"max_samples": 12})
    assert "now 12" in str(help_card(story.run, story.pipeline))
