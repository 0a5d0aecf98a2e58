"""Every button that an answer offers does something at that moment: none is old, none is refused by the run."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.core.cards import Button, Buttons
from bot.core.clicks import parse_click
from bot.core.machine import step
from bot.core.reading import Kind
from bot.core.summary.asks import ask_card
from bot.service import buttons
from tests.unit.core.story import Story
from tests.unit.core.test_help import MOMENTS, readings, story_at

SAID = [
    "continue?", "done", "extraction done, continue", "training done, continue", "continue when it's done", "LFG",
    "continue at 8 samples", "continue in 10 minutes", "continue tomorrow", "maybe continue", "anna said continue",
    "retry?", "retry from scratch", "try again", "kill it?", "loss is nan", "^C", "nuke it", "restart", "undo",
    "bench?", "bench it maybe", "bench gsm8k?", "lr 2e4", "lr 2e-4?", "steps 5?", "steps 99", "max samples 12?",
    "generate 5 more", "generate 5k more", "generate more", "waive because nine are plenty", "9 are enough, continue",
    "should we hold?", "resume", "skip training", "continue & bench right after", "oops wrong thread",
]  # fmt: skip


def offered(story: Story, text: str) -> list[Button]:
    found: list[Button] = []
    for intent in readings(story, text):
        if intent.kind is not Kind.ASK:
            continue
        card = ask_card(intent, story.run, story.pipeline, story.now, said=text)
        found += [button for part in card.parts if isinstance(part, Buttons) for button in part.buttons]
    return found


def press(story: Story, button: Button) -> None:
    """As a click does it. Raises WrongState, ValueError."""
    click = parse_click(button.action, button.value)
    assert click is not None and buttons.current(story.run, click, story.now), "it is of an earlier moment"
    desk: Any = SimpleNamespace(
        clock=SimpleNamespace(now=lambda: story.now),
        config=SimpleNamespace(undo_s=10.0),
        pipeline=lambda _: story.pipeline,
    )
    rest: Any = None  # what only a whole click needs
    made = buttons.Buttons(desk, rest, rest, rest)
    step(story.run, made._order(click, story.run, "UOP"), story.pipeline)


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_button_works(moment: str) -> None:
    story = story_at(moment)
    pressed = 0
    for text in SAID:
        for button in offered(story, text):
            if button.action != "status":
                press(story, button)
                pressed += 1
    assert pressed or moment in ("starting", "checking")
