"""Takes ops/pictures/gate.png: the page of a real demo run, at the gate after extraction, in headless Chromium.

Needs Debian's packages chromium and, for the emoji, fonts-noto-color-emoji.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bot.core.model import Run
from bot.demo.operator import play
from bot.demo.place import PIPELINE, Place
from bot.demo.show import Show
from bot.demo.target import make_target
from bot.errors import BotError
from bot.pipeline import load_pipeline
from bot.workspace.roster import OPERATOR, RUNS

TOP = Path(__file__).resolve().parent.parent
SETTLE_MS = 4000


class Taken(Exception):
    """The picture is there; the run need not go on."""


def photograph(url: str, out: Path, size: str) -> None:
    """Raises BotError when there is no Chromium, or no picture came of it."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise BotError("no chromium here: apt install chromium fonts-noto-color-emoji")
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1.5"]
        where = [f"--user-data-dir={profile}", f"--window-size={size}", f"--screenshot={out}"]
        where.append(f"--virtual-time-budget={SETTLE_MS}")
        done = subprocess.run([chromium, *flags, *where, url], capture_output=True, text=True, timeout=90)
    if not out.exists():
        raise BotError(f"no picture: {done.stderr[-500:]}")


def main() -> int:
    to = argparse.ArgumentParser(prog="ops/picture", description=__doc__)
    to.add_argument("--out", type=Path, default=TOP / "ops/pictures/gate.png", help="(default: %(default)s)")
    to.add_argument("--after", default="extract", help="the stage whose gate is shown (default: %(default)s)")
    to.add_argument("--size", default="1500,1180", help="of the window (default: %(default)s)")
    to.add_argument("--pipeline", type=Path, default=PIPELINE)
    to.add_argument("--timeout", type=float, default=1800.0, help="seconds (default: %(default)s)")
    args = to.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder=Path(folder))
        try:
            with Show(place, args.pipeline, port=0, undo_s=1.0) as show:
                make_target(show, args.pipeline)

                def look(run: Run) -> None:
                    if run.gate is not None and run.gate.after == args.after:
                        args.out.parent.mkdir(parents=True, exist_ok=True)
                        photograph(f"{show.url}/?as={OPERATOR}&still#/{RUNS}/{show.thread(run)}", args.out, args.size)
                        raise Taken

                play(show, f"start {load_pipeline(args.pipeline).name}", args.timeout, at_gate=look)
        except Taken:
            print(args.out)
            return 0
        except BotError as error:
            print(error, file=sys.stderr)
            return 1
    print(f"the run has no gate after {args.after}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
