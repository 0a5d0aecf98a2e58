"""What the driver of a database raises, in the bot's own words."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from bot.errors import StoreUnavailable

_READ_ONLY = "25006"  # a standby that has not taken over yet


@contextmanager
def translated() -> Iterator[None]:
    """Raises StoreUnavailable where a repeat may help: no connection, one that broke, a lock not had in time.

    The statement and its values are left out: they hold what people said.
    """
    try:
        yield
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        if not _may_pass(error):
            raise
        said = " ".join(str(getattr(error, "orig", None) or error).split())
        raise StoreUnavailable(f"the database: {said}") from error


def _may_pass(error: sa.exc.SQLAlchemyError) -> bool:
    if not isinstance(error, sa.exc.DBAPIError) or isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError):
        return True
    return error.connection_invalidated or getattr(error.orig, "sqlstate", "") == _READ_ONLY
