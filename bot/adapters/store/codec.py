"""Frozen dataclasses of the core as JSON text, and back."""

from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from bot.core import effects
from bot.core.model import Run

_RUN = TypeAdapter(Run)
_EFFECTS: dict[str, TypeAdapter[Any]] = {
    kind.__name__: TypeAdapter(kind)
    for kind in (
        effects.Launch,
        effects.Adopt,
        effects.Withdraw,
        effects.Kill,
        effects.Post,
        effects.Edit,
        effects.Whisper,
        effects.React,
        effects.Upload,
    )
}


def dump_run(run: Run) -> str:
    """NaN and infinities are kept as words that a number is read from again: as null the run would not load."""
    return to_json(run, inf_nan_mode="strings").decode()


def load_run(body: str) -> Run:
    """Raises ValueError when it does not fit."""
    return _RUN.validate_json(body)


def dump_effect(effect: effects.Effect) -> tuple[str, str]:
    """Kind and body."""
    kind = type(effect).__name__
    return kind, _EFFECTS[kind].dump_json(effect).decode()


def load_effect(kind: str, body: str) -> effects.Effect:
    effect: effects.Effect = _EFFECTS[kind].validate_json(body)
    return effect


def text(at: datetime) -> str:
    """One width, UTC, sortable."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")
