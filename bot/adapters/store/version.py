"""Which version a database's tables are of, and which the newest is."""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

MIGRATIONS = Path(__file__).parent / "migrations"


def find_version(connection: Connection) -> str | None:
    """None where there are no tables yet."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return version


def newest_version() -> str:
    """What the last migration leads to: its number."""
    return max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
