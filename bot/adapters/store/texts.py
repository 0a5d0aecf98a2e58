"""Columns of text that take any text, whatever the database is particular about."""

import hashlib

from sqlalchemy import types
from sqlalchemy.engine import Dialect

from bot.core.inbound import storable


class Text(types.TypeDecorator[str]):
    """A host's last words may hold NULs, which PostgreSQL refuses, and half characters, which both do."""

    impl = types.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else storable(value)


class String(types.TypeDecorator[str]):
    """The same, of limited width. What is longer is kept by its start and its digest: a key stays a key.

    SQLite takes no notice of the width; PostgreSQL refuses what is longer.
    """

    impl = types.String
    cache_ok = True

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.width = width

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else fitting(storable(value), self.width)


def fitting(text: str, width: int) -> str:
    """Unchanged up to `width` characters, then another text for every other one."""
    if len(text) <= width:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[: min(64, width // 2)]
    return text[: width - len(digest)] + digest
