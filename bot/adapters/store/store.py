"""The store: every order is one transaction."""

from bot.adapters.store import audit
from bot.adapters.store.effects import EffectRows
from bot.adapters.store.events import EventRows
from bot.adapters.store.lease import LeaseRows
from bot.adapters.store.orders import OrderRows
from bot.adapters.store.posts import PostRows
from bot.adapters.store.runs import RunRows
from bot.adapters.store.writing import Conflict


class Store(EventRows, RunRows, EffectRows, PostRows, OrderRows, LeaseRows):
    """All state of the bot (port RunStore). Thread-safe; every method is one transaction."""

    conflict: type[Exception] = Conflict
    duplicate: type[Exception] = audit.Duplicate

    def about(self) -> str:
        """Which kind of database, and where; a password is left out."""
        with self._read() as connection:
            kind = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}[connection.dialect.name]
            version = ".".join(str(part) for part in connection.dialect.server_version_info or ())
        return f"{kind} {version}, {self._engine.url.render_as_string(hide_password=True)}"

    def close(self) -> None:
        self._engine.dispose()
