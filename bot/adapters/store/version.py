"""Whether this version of the bot may bring a database's tables up to date."""

from collections.abc import Callable

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from bot.adapters.store.lease import database_s
from bot.adapters.store.schema import leases
from bot.errors import BotError


def check_version(connection: Connection, script: ScriptDirectory, is_gone: Callable[[str], bool]) -> None:
    """What an older bot writes does not fit newer tables: its orders would come to stand outside the audit chain.

    Raises BotError for tables of a newer version, or when a bot of the older one is at work on them.
    """
    found, newest = MigrationContext.configure(connection).get_current_revision(), script.get_current_head()
    if found in (None, newest):
        return
    if found not in [revision.revision for revision in script.walk_revisions()]:
        raise BotError(f"the database is of a newer version of the bot: its tables are {found}, this one has {newest}")
    holder = connection.scalar(sa.select(leases.c.holder).where(leases.c.until > database_s(connection)))
    if holder is not None and not is_gone(holder):
        raise BotError(
            f"the database is of an older version, and a bot is at work on it: {holder}; stop that one first"
            " (one that was killed is let go of after 30 s)"
        )
