"""From a station in memory to the disk, right behind the writers: the set may be larger than the station."""

import os
import queue
import threading
from pathlib import Path

from pointsman_capture.room import Room
from pointsman_capture.tensorfile import placed

_MOST_A_CALL = 0x7FFFF000  # what Linux moves in one call


class Mover:
    """Threads that move whole files from `station` to `folder`. A file is recorded when it is in its last place.

    `room` bounds what lies in the station; a writer takes there before it writes. `done(record)` and
    `failed(record, error)` are called by the threads.
    """

    def __init__(self, settings, folder, done, failed):
        self.room = Room(settings.station_bytes)
        self._station = settings.station
        self._folder = folder
        self._done = done
        self._failed = failed
        self._queue = queue.SimpleQueue()
        for number in range(max(1, 2 * settings.writers)):  # each spends much of its time waiting for a sync
            threading.Thread(target=self._work, name=f"capture-mover-{number}", daemon=True).start()

    def path(self, file):
        """Where a writer puts a sample's file."""
        return self._station / file

    def put(self, record):
        self._queue.put(record)

    def _work(self):
        while True:
            record = self._queue.get()
            source = self.path(record["file"])
            try:
                move(source, self._folder.path(record["file"]))
                self._done(record)
            except Exception as error:
                self._failed(record, error)
            finally:
                source.unlink(missing_ok=True)
                self.room.give(record["bytes"])


def move(source, path):
    """Copy within the kernel to another file system, synced and renamed into place. A failure leaves nothing behind."""
    path = Path(path)
    with open(source, "rb") as file, placed(path) as handle:  # noqa: PTH123
        left, at = os.fstat(file.fileno()).st_size, 0
        while left:
            moved = os.sendfile(handle, file.fileno(), at, min(left, _MOST_A_CALL))
            if moved == 0:
                raise OSError(f"{source} became shorter while it was moved")
            left, at = left - moved, at + moved
