"""Reads what `pip install --progress-bar raw` says: all of it into a log, how far it is to the terminal."""

import re
import sys
import time
from pathlib import Path

FILE = re.compile(r"(?:Downloading|Using cached|Processing) \S*?([^\s/]+?)-\d\S*(?: \(([\d.]+) ([kM]?B)\))?")
UNITS = {"B": 1e-6, "kB": 1e-3, "MB": 1.0}


class Progress:
    """How many of about `total_mb` came so far: one line that changes on a terminal, else one every 10 s."""

    def __init__(self, total_mb: float) -> None:
        self.total_mb = total_mb
        self.done_mb = 0.0  # of the files before this one
        self.name = ""
        self.shown_s = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def read(self, line: str) -> None:
        if line.startswith("Progress "):
            self.show(self.done_mb + int(line.split()[1]) / 1e6)
        elif found := FILE.match(line.strip()):
            self.name = found[1]
            self.show(self.done_mb)
            self.done_mb += float(found[2] or 0) * UNITS[found[3] or "B"]
        elif line.startswith("Installing collected packages"):
            self.say(f"unpacking {line.count(',') + 1} packages")

    def show(self, so_far_mb: float) -> None:
        now_s = time.monotonic()
        if now_s - self.shown_s >= (0.2 if self.terminal else 10):
            self.shown_s = now_s
            self.say(f"{so_far_mb:5.0f} of about {max(self.total_mb, so_far_mb):.0f} MB  {self.name}")

    def say(self, text: str) -> None:
        print(
            f"\r\033[Ksetup: {text}" if self.terminal else f"setup: {text}",
            end="" if self.terminal else "\n",
            file=sys.stderr,
            flush=True,
        )


def main() -> int:
    progress = Progress(float(sys.argv[1]))
    with Path(sys.argv[2]).open("a", encoding="utf-8") as log:
        for line in sys.stdin:
            if not line.startswith("Progress "):
                log.write(line)
                log.flush()
            progress.read(line)
    if progress.terminal:
        print("\r\033[K", end="", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
