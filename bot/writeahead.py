"""SQLite's write-ahead log, switched on in a file that others may be opening at the same moment."""

import random
import sqlite3
import time


def write_ahead(connection: sqlite3.Connection, patience_s: float) -> None:
    """Raises sqlite3.OperationalError when others write all the time.

    SQLite itself does not wait here, whatever its busy timeout: it reads the file to see how it is set, and who reads
    and then wants to write is refused at once, for two who did so would wait for each other. The refusal lets go of
    the file.
    """
    until_s = time.monotonic() + patience_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until_s:
                raise
        time.sleep(random.uniform(0.01, 0.05))
