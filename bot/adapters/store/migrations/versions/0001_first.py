"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("claim", sa.String(400), nullable=False, unique=True),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("handled_at", sa.String(40)),
        sa.Column("outcome", sa.Text),
    )
    op.create_index("events_pending", "events", ["handled_at"])
    op.create_table(
        "runs",
        sa.Column("id", sa.String(60), primary_key=True),
        sa.Column("number", sa.Integer, nullable=False, unique=True),
        sa.Column("phase", sa.String(20), nullable=False),
        sa.Column("channel", sa.String(60), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("updated_at", sa.String(40), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "orders",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("run", sa.String(60)),
        sa.Column("claim", sa.String(420), nullable=False, unique=True),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("who", sa.String(120), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("before", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_index("orders_run", "orders", ["run"])
    op.create_table(
        "effects",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("run", sa.String(60), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("key", sa.String(300), nullable=False, unique=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("not_before", sa.String(40), nullable=False),
        sa.Column("begun_at", sa.String(40)),
        sa.Column("done_at", sa.String(40)),
        sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
        sa.Column("result", sa.Text),
    )
    op.create_index("effects_pending", "effects", ["done_at", "not_before"])
    op.create_table(
        "posts",
        sa.Column("key", sa.String(300), primary_key=True),
        sa.Column("run", sa.String(60), nullable=False),
        sa.Column("channel", sa.String(60), nullable=False),
        sa.Column("ts", sa.String(40), nullable=False),
        sa.Column("thread_ts", sa.String(40)),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, server_default=""),
    )
    op.create_index("posts_place", "posts", ["channel", "ts"])
    op.create_table(
        "leases",
        sa.Column("name", sa.String(60), primary_key=True),
        sa.Column("holder", sa.String(200), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )
    op.create_table(
        "cursors",
        sa.Column("name", sa.String(120), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )


def downgrade() -> None:
    for name in ("cursors", "leases", "posts", "effects", "orders", "runs", "events"):
        op.drop_table(name)
