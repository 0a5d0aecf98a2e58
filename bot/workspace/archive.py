"""Where the workspace keeps what must survive a restart: one SQLite file of JSON documents and file bytes."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from bot.workspace.refusal import Json
from bot.writeahead import write_ahead

LOCK_WAIT_S = 10.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS document (kind TEXT, key TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS bytes (key TEXT PRIMARY KEY, body BLOB NOT NULL);
"""


class Archive:
    """Writes through at every change; in memory when no path is given."""

    def __init__(self, path: Path | None = None) -> None:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # made by the thread that asks for a server, used by the server's alone
        self._db = sqlite3.connect(path or ":memory:", LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
        write_ahead(self._db, LOCK_WAIT_S)
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_SCHEMA)

    def save(self, kind: str, key: str, body: Json) -> None:
        self._db.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?)", (kind, key, json.dumps(body)))

    def remove(self, kind: str, key: str) -> None:
        self._db.execute("DELETE FROM document WHERE kind = ? AND key = ?", (kind, key))

    def load(self, kind: str) -> Iterator[Json]:
        for (body,) in self._db.execute("SELECT body FROM document WHERE kind = ? ORDER BY key", (kind,)):
            yield json.loads(body)

    def save_bytes(self, key: str, body: bytes) -> None:
        self._db.execute("INSERT OR REPLACE INTO bytes VALUES (?, ?)", (key, body))

    def load_bytes(self, key: str) -> bytes | None:
        row = self._db.execute("SELECT body FROM bytes WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def close(self) -> None:
        self._db.close()
