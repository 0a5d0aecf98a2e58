"""The capture folder: files of samples, and what the client reads to learn how each of them went.

engine-<rank>.json    written when the server is ready: versions, and what the loaded model captures
records-<rank>.jsonl  one line a request, after its file is in place
failure.json          why writing stopped; its space is reserved beforehand, so that a full disk can be told
"""

import json
import os
import sys
import threading

_RESERVED = 4096


class CaptureFolder:
    def __init__(self, root):
        self._root = root.resolve()
        self._told = self._root / "capture"
        self._told.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        name = f"records-{os.getpid()}.jsonl"
        self._records = os.open(self._told / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._spare = self._told / f".reserved-{os.getpid()}"
        self._spare.write_bytes(b" " * _RESERVED)

    def announce(self, **facts):
        """Say that the server is ready, and what it captures."""
        temp = self._told / f".tmp-engine-{os.getpid()}"
        temp.write_text(json.dumps({"version": 1, **facts}), encoding="utf-8")
        os.replace(temp, self._told / f"engine-{os.getpid()}.json")  # noqa: PTH105

    def path(self, file):
        """The place of a sample's file. Raises ValueError when it would be outside of the folder."""
        path = (self._root / file).resolve()
        if not path.is_relative_to(self._root):
            raise ValueError(f"{file!r} is outside of the capture folder")
        return path

    def record(self, entry):
        """Append one line. A line that was cut short by a crash is never continued: each starts on its own line."""
        line = b"\n" + json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            done = os.write(self._records, line)
        if done != len(line):
            raise OSError(28, "no space left for a record")

    def fail(self, sample_id, error, is_full):
        """Tell why writing stopped: into reserved space, and into the server's log."""
        kind = "DiskFull" if is_full else type(error).__name__
        message = f"{sample_id}: {error}"[:1000]
        print(f"pointsman_capture: {kind}: {message}", file=sys.stderr, flush=True)
        body = json.dumps({"version": 1, "kind": kind, "id": sample_id, "message": message}).encode()
        with self._lock:
            if not self._spare.exists():
                return  # the first failure is the one that counts
            handle = os.open(self._spare, os.O_WRONLY)
            try:
                os.pwrite(handle, body.ljust(_RESERVED), 0)
                os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(self._spare, self._told / "failure.json")  # noqa: PTH105
