"""Brings a database's tables up to date, where this version of the bot may do so."""

from collections.abc import Callable

import alembic.command
import alembic.config
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from bot.adapters.store.lease import database_s
from bot.adapters.store.schema import leases
from bot.adapters.store.version import MIGRATIONS, newest_version
from bot.errors import BotError


def upgrade(connection: Connection, found: str | None, is_gone: Callable[[str], bool]) -> None:
    """Run the migrations that are missing in tables of the version `found`. Raises BotError as `_check`."""
    config = alembic.config.Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    if found is not None:
        _check(connection, found, ScriptDirectory.from_config(config), is_gone)
    alembic.command.upgrade(config, "head")


def _check(connection: Connection, found: str, script: ScriptDirectory, is_gone: Callable[[str], bool]) -> None:
    """What an older bot writes does not fit newer tables: its orders would come to stand outside the audit chain.

    Raises BotError for tables of a newer version, or when a bot of the older one is at work on them.
    """
    if found not in [revision.revision for revision in script.walk_revisions()]:
        newest = newest_version()
        raise BotError(f"the database is of a newer version of the bot: its tables are {found}, this one has {newest}")
    holder = connection.scalar(sa.select(leases.c.holder).where(leases.c.until > database_s(connection)))
    if holder is not None and not is_gone(holder):
        raise BotError(
            f"the database is of an older version, and a bot is at work on it: {holder}; stop that one first"
            " (one that was killed is let go of after 30 s)"
        )
