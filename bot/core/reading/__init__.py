"""Reading operators' messages: `(text, context) -> intents`, pure and total."""

from bot.core.reading.context import (
    Context,
    EditedOrder,
    Event,
    ParamSpec,
    PendingQuestion,
    Phase,
    PipelineView,
    Place,
    QuestionKind,
    RunView,
    StageView,
)
from bot.core.reading.intent import ACTIONS, Claim, Intent, Kind
from bot.core.reading.reader import read

__all__ = [
    "ACTIONS",
    "Claim",
    "Context",
    "EditedOrder",
    "Event",
    "Intent",
    "Kind",
    "ParamSpec",
    "PendingQuestion",
    "Phase",
    "PipelineView",
    "Place",
    "QuestionKind",
    "RunView",
    "StageView",
    "read",
]
