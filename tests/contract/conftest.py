"""Databases for what every store promises."""

from pathlib import Path

import pytest

from tests.hosting.postgres import Postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/bot.db"
    server: Postgres = request.getfixturevalue("postgres")
    return server.database()
