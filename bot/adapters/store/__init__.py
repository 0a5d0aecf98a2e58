"""Runs, orders, effects and posts in a database (SQLAlchemy Core; SQLite or PostgreSQL)."""

from bot.adapters.store.opening import open_store
from bot.adapters.store.store import Store
from bot.adapters.store.writing import Conflict

__all__ = ["Conflict", "Store", "open_store"]
