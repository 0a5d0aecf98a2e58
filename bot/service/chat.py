"""Cards on their way out: secrets masked, digests taken."""

import dataclasses
import hashlib
from collections.abc import Iterable
from typing import TypeVar

from bot.core.cards import Card
from bot.core.masking import mask

T = TypeVar("T")


def mask_card(card: Card, known: Iterable[str]) -> Card:
    """The card with every secret in any of its texts masked."""
    return _masked(card, tuple(known))


def _masked(value: T, known: tuple[str, ...]) -> T:
    if isinstance(value, str):
        return mask(value, known)  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(_masked(item, known) for item in value)  # type: ignore[return-value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _masked(getattr(value, field.name), known) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return value


def digest(card: Card) -> str:
    """Equal for cards that look equal."""
    return hashlib.sha256(repr(card).encode()).hexdigest()
