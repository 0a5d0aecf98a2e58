"""Claims checked now: how long an operator waits for the answer, beside waiting for the next poll.

A real bot over Socket Mode, the embedded workspace, and a host behind a real sshd that is polled every `poll_s` by
itself. Three ways, in turn, each from its beginning until it is known in the channel:

  contradicted   "work done, continue" while the stage is at work: from the message
  proven         "prep done, continue" at a gate: from the end of the evidence's own attempt, undo window included
  the next poll  nobody says anything: from a stage's end until the bot knows of it
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from bot.demo.place import HOST, Place
from bot.demo.show import Show
from runner.protocol.files import read_json

EVIDENCE = """
import os
from pathlib import Path
from runner.protocol.evidence import Check, Evidence, Subject
from runner.protocol.files import write_json
made = Evidence({stage!r}, Subject("."), [Check("there", True, 1, 1)], [])
write_json(str(Path(os.environ["POINTSMAN_ATTEMPT_DIR"]) / "evidence.json"), made.to_json())
"""
POLL_S = 5.0  # a host's default
UNDO_S = 0.2
PATIENCE_S = 60.0
LOOK_S = 0.005


class Polled(Place):
    """A demo's place whose host is polled as seldom as a real one."""

    def configure(self, api_url: str, pipeline: Path, undo_s: float) -> None:
        super().configure(api_url, pipeline, undo_s)
        body = yaml.safe_load(self.config.read_text())
        body["hosts"][HOST]["poll_s"] = POLL_S
        self.config.write_text(yaml.safe_dump(body))


def pipeline() -> dict[str, Any]:
    def stage(name: str, seconds: str) -> dict[str, Any]:
        python = ["{python}", "-c"]
        body = {"id": name, "title": name, "command": [*python, f"import random, time; time.sleep({seconds})"]}
        return body | {"verify": [*python, EVIDENCE.format(stage=name)], "gate": {}}

    stages = [stage("prep", f"1 + {POLL_S} * random.random()"), stage("work", "3600")]
    return {"version": 1, "name": "claims", "title": "claims", "host": HOST, "stages": stages}


class Channel:
    """One run's thread, as an operator reads it."""

    def __init__(self, show: Show) -> None:
        self.show, self.thread = show, ""

    def start(self) -> None:
        """A new run, with its plan in the channel."""
        before = self.show.run()
        self.show.ask("start claims")
        run = self.until(lambda: (r := self.show.run()) and (before is None or r.id != before.id) and r)
        self.thread = self.until(lambda: self.show.thread(run))
        self.until(lambda: self.texts("the plan is ready"))

    def say(self, text: str) -> float:
        """When it was said."""
        self.show.ask(text, self.thread)
        return time.time()

    def texts(self, part: str) -> list[str]:
        said = [str(message.get("text", "")) for message in self.show.control.thread(self.thread)]
        return [text for text in said if part in text]

    def answered(self, part: str, more_than: int) -> float:
        """When one more message with this text stood there."""
        self.until(lambda: len(self.texts(part)) > more_than)
        return time.time()

    def until(self, look: Callable[[], Any]) -> Any:
        end_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < end_s:
            if found := look():
                return found
            self.show.pause(LOOK_S)
        raise TimeoutError("\n".join(self.texts("")[-5:]))

    def attempt_ended(self, kind: str) -> float:
        """When the newest attempt of this kind ended, by the host's own record."""
        folders = sorted(self.show.place.host_root.glob(f"attempts/*-prep-1{kind}"), key=lambda f: f.stat().st_mtime)
        record = read_json(str(folders[-1] / "exit.json"))
        return datetime.fromisoformat(str(record["ended_at"])).astimezone(UTC).timestamp()


def turns(channel: Channel, rounds: int) -> Iterator[tuple[str, float]]:
    """Seconds by way, in turn."""
    for _ in range(rounds):
        channel.start()
        channel.say("go")
        channel.until(lambda: (run := channel.show.run()) and run.phase.value == "verifying")
        known = time.time()
        yield "the next poll", known - channel.attempt_ended("")
        channel.answered("prep finished", 0)
        channel.say("prep done, continue")
        shown = channel.answered("Started", 1)
        yield "proven", shown - channel.attempt_ended(".check*")
        channel.until(lambda: (run := channel.show.run()) and run.current and run.current.pid)
        said = channel.say("work done, continue")
        yield "contradicted", channel.answered("is not done", 0) - said
        channel.say("cancel")
        channel.until(lambda: channel.texts("Cancel"))
        channel.say("yes")
        channel.until(lambda: (run := channel.show.run()) and run.phase.value == "cancelled")


def measure(rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "claims.yaml").write_text(yaml.safe_dump(pipeline()))
        with Show(Polled(folder=folder / "state"), folder / "claims.yaml", port=0, undo_s=UNDO_S) as show:
            found: dict[str, list[float]] = {}
            for way, seconds in turns(Channel(show), rounds):
                found.setdefault(way, []).append(seconds)
    rival = statistics.median(found["the next poll"])
    ways = {
        way: {
            "median_s": round(statistics.median(values), 3),
            "worst_s": round(max(values), 3),
            "ratio": round(rival / statistics.median(values), 2),
        }
        for way, values in found.items()
    }
    return {"poll_s": POLL_S, "undo_s": UNDO_S, "rounds": rounds, "ways": ways}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each way (default %(default)s)")
    options = parser.parse_args()
    found = measure(options.rounds)
    if options.json:
        print(json.dumps(found))
        return 0
    for way, row in found["ways"].items():
        print(f"{way:14} median {row['median_s']:6.3f} s, worst {row['worst_s']:6.3f} s, x{row['ratio']:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
