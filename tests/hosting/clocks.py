"""A wall clock that can be set, for a whole process, by libfaketime; the monotonic clock goes on as it does."""

import os
from pathlib import Path

import pytest

_SLEEP = Path(__file__).with_name("clocked")
_PLACES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")


def library() -> str:
    """The path of libfaketime for programs with threads, "" where it is not installed."""
    found = (Path(place) / "faketime/libfaketimeMT.so.1" for place in _PLACES)
    return next((str(path) for path in found if path.exists()), "")


needs_faketime = pytest.mark.skipif(not library(), reason="no libfaketime here: apt-get install faketime")


class SetClock:
    """`environment` is for the process whose clock it is."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(0)

    def set(self, ahead_s: float) -> None:
        """So many seconds ahead of the true time; behind it, when below 0."""
        temp = self.file.with_suffix(".new")
        temp.write_text(f"{ahead_s:+.0f}\n")
        temp.replace(self.file)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "LD_PRELOAD": library(),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            # Without it, waits by the monotonic clock end at once: threads that wait for their turn spin.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(_SLEEP), os.environ.get("PYTHONPATH")))),
        }
