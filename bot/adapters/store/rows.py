"""What every part of the store stands on: a database that is read, and written in one transaction at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import Connection, Engine


class Rows:
    """The rows of one kind. Thread-safe; every method of a part is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(writes=True)

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._writer.begin() as connection:
            yield connection
