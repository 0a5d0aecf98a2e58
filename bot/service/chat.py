"""Cards on their way out: secrets masked, digests taken."""

import dataclasses
import hashlib
import os
from collections.abc import Iterable
from typing import TypeVar

from bot.config import Config
from bot.core.cards import Card
from bot.core.masking import mask
from bot.core.pipeline import Pipeline

T = TypeVar("T")


def secret_values(config: Config, pipelines: Iterable[Pipeline] = ()) -> tuple[str, ...]:
    """Every value of this environment that must never be shown."""
    names = {config.slack.bot_token_env, config.slack.app_token_env}
    names |= {name for host in config.hosts.values() for name in host.secrets}
    names |= {name for pipeline in pipelines for stage in pipeline.stages for name in stage.secrets}
    return tuple(os.environ[name] for name in sorted(names) if os.environ.get(name))


def mask_card(card: Card, known: Iterable[str]) -> Card:
    """The card with every secret in any of its texts masked."""
    return masked(card, tuple(known))


def masked(value: T, known: tuple[str, ...]) -> T:
    """The same value with every text within masked."""
    if isinstance(value, str):
        return mask(value, known)  # type: ignore[return-value]
    if isinstance(value, tuple | list):
        return type(value)(masked(item, known) for item in value)
    if isinstance(value, dict):
        return {key: masked(item, known) for key, item in value.items()}  # type: ignore[return-value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: masked(getattr(value, field.name), known) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return value


def digest(card: Card) -> str:
    """Equal for cards that look equal."""
    return hashlib.sha256(repr(card).encode()).hexdigest()
