"""Runs the numbered migrations on the connection that `open_store` hands over."""

from alembic import context

from bot.adapters.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
