"""Posts: where each thing was said, and what it shows now."""

import sqlalchemy as sa

from bot.adapters.store.rows import Rows
from bot.adapters.store.schema import posts
from bot.core.stored import Posted


class PostRows(Rows):
    """Posts by their keys and by where they stand."""

    def add_post(self, posted: Posted) -> None:
        with self._write() as connection:
            connection.execute(posts.delete().where(posts.c.key == posted.key))
            connection.execute(posts.insert().values(vars(posted)))

    def post(self, key: str) -> Posted | None:
        with self._read() as connection:
            row = connection.execute(sa.select(posts).where(posts.c.key == key)).mappings().first()
        return Posted(**row) if row else None

    def posted_at(self, channel: str, ts: str) -> Posted | None:
        """What was posted there."""
        query = sa.select(posts).where(posts.c.channel == channel, posts.c.ts == ts)
        with self._read() as connection:
            row = connection.execute(query).mappings().first()
        return Posted(**row) if row else None

    def redrawn(self, key: str, digest: str) -> None:
        """Remember what a post shows now."""
        with self._write() as connection:
            connection.execute(posts.update().where(posts.c.key == key).values(digest=digest))

    def thread_posts(self, run_id: str) -> list[Posted]:
        """Everything posted for a run, oldest first."""
        query = sa.select(posts).where(posts.c.run == run_id).order_by(posts.c.ts)
        with self._read() as connection:
            return [Posted(**row) for row in connection.execute(query).mappings()]

    def run_at(self, channel: str, thread_ts: str) -> str | None:
        """The run whose thread this is."""
        query = sa.select(posts.c.run).where(posts.c.channel == channel, posts.c.ts == thread_ts)
        with self._read() as connection:
            return connection.execute(query).scalar()
