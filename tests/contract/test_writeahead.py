"""The write-ahead log is switched on while another holds a lock on the file."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.store import open_store
from bot.workspace.archive import Archive
from bot.writeahead import write_ahead

LOCKS = ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "BEGIN; SELECT * FROM mark"]


def opened(path: Path) -> None:
    open_store(f"sqlite:///{path}").close()


def archived(path: Path) -> None:
    Archive(path).close()


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("open_it", [opened, archived])
def test_who_opens_a_file_that_another_locks_waits(open_it: Callable[[Path], None], lock: str, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("CREATE TABLE mark (x)")
    for statement in lock.split("; "):
        holder.execute(statement).fetchall()
    letting_go = threading.Timer(0.3, holder.execute, ["ROLLBACK"])
    letting_go.start()
    open_it(path)
    letting_go.join()
    holder.close()
    with closing(sqlite3.connect(path)) as later:
        assert later.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_patience_has_an_end(tmp_path: Path) -> None:
    holder, other = (sqlite3.connect(tmp_path / "x.db", timeout=0.0, isolation_level=None) for _ in range(2))
    holder.execute("CREATE TABLE mark (x)")
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        write_ahead(other, 0.0)
    holder.close()
    other.close()


def test_another_refusal_is_not_waited_out(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"no database at all" * 1000)
    connection = sqlite3.connect(tmp_path / "x.db")
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        write_ahead(connection, 60.0)
    connection.close()
