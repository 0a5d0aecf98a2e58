"""The settings that a reading asks for."""

from collections.abc import Mapping
from typing import Any

from bot.core.pipeline import Pipeline, Value, suites_of
from bot.core.reading.intent import Intent


def wanted(intent: Intent, pipeline: Pipeline) -> dict[str, Value]:
    """The values of a reading; the suites that it names are one of them."""
    values = as_values({**intent.carried.get("set", {}), **intent.set})
    named = intent.more.get("suite") or intent.carried.get("suite")
    param = next((found for spec in pipeline.stages if (found := suites_of(spec))), None)
    if named and param is not None:
        values[param.name] = ",".join(map(str, named))
    return values


def as_values(found: Mapping[str, Any]) -> dict[str, Value]:
    """Settings of a stage from plain JSON values."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
