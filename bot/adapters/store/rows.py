"""What every part of the store stands on: a database that is read, and written in one transaction at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import Connection, Engine

from bot.adapters.store.trouble import translated


class Rows:
    """The rows of one kind. Thread-safe; every method of a part is one transaction, and raises StoreUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(writes=True)

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        """What is read within is of one moment."""
        with translated(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """Nobody else writes meanwhile, in this process or another: what is read within still holds at its end."""
        with translated(), self._writer.begin() as connection:
            yield connection
