"""The question "which run?", kept until it is answered: it belongs to the thread that it was asked in, not to a run."""

import json
from datetime import datetime

from bot.core.inbound import InboundEvent
from bot.core.model import Run
from bot.core.reading.context import PendingQuestion, QuestionKind
from bot.core.reading.intent import ACTIONS, Intent, Kind
from bot.service.context import QUESTION_LIVES_S
from bot.service.desk import Desk

_ANSWERABLE = ("ADVANCE", "CANCEL")


def note_which(desk: Desk, event: InboundEvent, intent: Intent) -> None:
    """Remember that this person was asked, and what the answer would carry out."""
    candidates = [str(name) for name in intent.more.get("candidates", ())]
    if intent.why != "which_run" or intent.proposed not in _ANSWERABLE or not candidates:
        return
    asked = {
        "at": desk.clock.now().isoformat(),
        "of": event.user,
        "proposed": intent.proposed,
        "candidates": candidates,
        "set": dict(intent.carried.get("set", {})),
    }
    for name in _names(event):
        desk.store.set_cursor(name, json.dumps(asked))


def which_asked(desk: Desk, event: InboundEvent, runs: list[Run]) -> PendingQuestion | None:
    """The question that this message may answer, while it is fresh."""
    stored = next((found for name in _names(event) if (found := desk.store.cursor(name))), None)
    if not stored:
        return None
    asked = json.loads(stored)
    if (desk.clock.now() - datetime.fromisoformat(asked["at"])).total_seconds() > QUESTION_LIVES_S:
        return None
    here = {run.id for run in runs}
    return PendingQuestion(
        kind=QuestionKind.WHICH_RUN,
        proposed=asked["proposed"],
        candidates=tuple(name for name in asked["candidates"] if name in here),
        to_speaker=asked["of"] == event.user,
        set=asked["set"],
    )


def settle_which(desk: Desk, event: InboundEvent, intents: tuple[Intent, ...]) -> None:
    """Once an order came of it, the question is no longer open."""
    if any(intent.kind in ACTIONS or intent.kind is Kind.HOLD for intent in intents):
        for name in _names(event):
            if desk.store.cursor(name):
                desk.store.set_cursor(name, "")


def _names(event: InboundEvent) -> list[str]:
    """Where the question is kept: its thread; a direct message need not be in one."""
    place = f"which/{event.team}/{event.channel}"
    return [f"{place}/{event.thread}", *([f"{place}/direct"] if event.channel_type == "im" else [])]
