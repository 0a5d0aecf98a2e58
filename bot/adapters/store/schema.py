"""The tables. Times are ISO 8601 UTC text of one width, so that they sort."""

from sqlalchemy import Column, Float, Index, Integer, MetaData, Table

from bot.adapters.store.texts import String, Text

metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("claim", String(400), nullable=False, unique=True),
    Column("at", String(40), nullable=False),
    Column("body", Text, nullable=False),
    Column("handled_at", String(40)),
    Column("outcome", Text),
    Index("events_pending", "handled_at"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", String(60), primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("phase", String(20), nullable=False),
    Column("channel", String(60), nullable=False),
    Column("version", Integer, nullable=False),
    Column("updated_at", String(40), nullable=False),
    Column("body", Text, nullable=False),
)

orders = Table(
    "orders",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("run", String(60)),
    Column("claim", String(420), nullable=False, unique=True),
    Column("at", String(40), nullable=False),
    Column("who", String(120), nullable=False),
    Column("body", Text, nullable=False),
    Column("before", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Index("orders_run", "run"),
)

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("count", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
)

effects = Table(
    "effects",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("run", String(60), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("key", String(300), nullable=False, unique=True),
    Column("body", Text, nullable=False),
    Column("not_before", String(40), nullable=False),
    Column("begun_at", String(40)),
    Column("done_at", String(40)),
    Column("tries", Integer, nullable=False, default=0),
    Column("result", Text),
    Index("effects_pending", "done_at", "not_before"),
)

posts = Table(
    "posts",
    metadata,
    Column("key", String(300), primary_key=True),
    Column("run", String(60), nullable=False),
    Column("channel", String(60), nullable=False),
    Column("ts", String(40), nullable=False),
    Column("thread_ts", String(40)),
    Column("at", String(40), nullable=False),
    Column("digest", String(64), nullable=False, default=""),
    Index("posts_place", "channel", "ts"),
)

leases = Table(
    "leases",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("holder", String(200), nullable=False),
    Column("until", Float, nullable=False),
)

cursors = Table(
    "cursors",
    metadata,
    Column("name", String(120), primary_key=True),
    Column("value", Text, nullable=False),
)
