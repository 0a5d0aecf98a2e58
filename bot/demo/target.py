"""The demo's target model: made once, from the weights in an installed package."""

import sys
from pathlib import Path

from bot.demo.parts import Part
from bot.demo.show import Show
from bot.errors import BotError
from bot.pipeline import load_pipeline

NAME = "smollm2"


def make_target(show: Show, pipeline: Path) -> None:
    """Make the folder that the pipeline's `target` names, unless it is there. Raises BotError."""
    named = load_pipeline(pipeline).vars.get("target")
    if named is None:
        return
    out = named.replace("{home}", str(Path.home()))
    log = show.place.log("target")
    part = Part.start("target", [sys.executable, "-m", "runner", "target", NAME, "--out", out], {}, log)
    try:
        show.say(f"the target model: {out}")
        while part.process.poll() is None:
            show.pause(0.1)
    finally:
        part.stop(5.0)
    if part.process.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
        raise BotError("\n  ".join([f"the target model cannot be made; log: {log}", *lines]))
