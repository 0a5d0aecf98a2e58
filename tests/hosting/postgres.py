"""A PostgreSQL of the tests' own: one folder with its data and its Unix socket, no port; gone with the session."""

import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.hosting.processes import owned

PACKAGE = "postgresql"
USER = "pointsman"
_UNPRIVILEGED = ("postgres", "nobody")
_IN_MEMORY = Path("/dev/shm")
_NEEDS_BYTES = 2 << 30
# An odd time zone: nothing that is stored may depend on it. Speed: this data outlives no power cut.
_SETTINGS = ("listen_addresses=", "timezone=Pacific/Chatham", "fsync=off", "max_connections=100", "log_statement=none")


def programs() -> Path | None:
    """Where Debian puts the newest server's programs, or where PATH finds them."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    path = str(found[-1]) if found else shutil.which("initdb")
    return Path(path).parent if path else None


def why_not() -> str:
    """What keeps PostgreSQL from running here, "" when nothing does."""
    if programs() is None:
        return f"no PostgreSQL here: apt install {PACKAGE}"
    if importlib.util.find_spec("psycopg") is None:
        return "no psycopg here: pip install --no-deps -r ops/requirements/postgres.txt"
    if os.geteuid() == 0 and _other_user() is None:
        return "PostgreSQL does not run as root, and there is no other user"
    return ""


def _roomy() -> Path | None:
    room = _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free > _NEEDS_BYTES
    return _IN_MEMORY if room else None


def _other_user() -> pwd.struct_passwd | None:
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next((known[name] for name in _UNPRIVILEGED if name in known), None)


class Postgres:
    """Runs until `close`."""

    def __init__(self) -> None:
        # Short, for the socket; not below pytest's folder, which is closed to the other user; not on a busy disk.
        self.folder = Path(tempfile.mkdtemp(prefix="pointsman-pg-", dir=_roomy()))
        self._as: dict[str, Any] = {"cwd": self.folder, "stdin": subprocess.DEVNULL}
        if os.geteuid() == 0:
            other = _other_user()
            assert other is not None
            os.chown(self.folder, other.pw_uid, other.pw_gid)
            self._as |= {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
        self._process: subprocess.Popen[bytes] | None = None
        self._names = (f"pointsman{n}" for n in itertools.count(1))
        bin_ = programs()
        assert bin_ is not None
        self._bin = bin_
        try:
            made = [str(bin_ / "initdb"), "-D", "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
            subprocess.run([*made, "--no-sync"], **self._as, capture_output=True, check=True)
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        argv = [str(self._bin / "postgres"), "-D", "data", "-k", str(self.folder)]
        argv += [part for setting in _SETTINGS for part in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(argv, **self._as, stdout=log, stderr=log, start_new_session=True)
        ready = [str(self._bin / "pg_isready"), "-q", "-h", str(self.folder)]
        give_up_s = time.monotonic() + 30
        while subprocess.run(ready, check=False).returncode != 0:
            assert self._process.poll() is None and time.monotonic() < give_up_s, self.log()
            time.sleep(0.05)

    def stop(self, crash: bool = False) -> None:
        """Every connection is cut. After a crash the next start recovers from the write-ahead log."""
        process, self._process = self._process, None
        if process is not None:
            with owned(process):
                process.send_signal(signal.SIGQUIT if crash else signal.SIGINT)
                process.wait(30)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def database(self, more: str = "") -> str:
        """The URL of a new, empty database."""
        name = next(self._names)
        self.do(f"CREATE DATABASE {name} STRATEGY file_copy {more}")
        return self.url(name)

    def url(self, name: str, user: str = USER) -> str:
        return f"postgresql+psycopg://{user}@/{name}?host={self.folder}"

    def do(self, statement: str, url: str = "") -> list[Any]:
        """Outside of any transaction, past the store; the rows it has."""
        import psycopg

        address = (url or self.url("postgres")).replace("+psycopg", "")
        with psycopg.connect(address, autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return list(cursor) if cursor.description else []
