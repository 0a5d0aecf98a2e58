"""Runs, orders, effects and posts in a database (SQLAlchemy Core; SQLite or PostgreSQL)."""

from bot.adapters.store.store import Conflict, Store, open_store

__all__ = ["Conflict", "Store", "open_store"]
