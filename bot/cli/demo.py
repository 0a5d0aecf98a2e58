"""`python -m bot demo`: the whole job on this machine, on a real model, in a workspace of its own."""

import argparse
import json
import shutil
import socket
import sys
import time
from datetime import datetime
from pathlib import Path

from bot.cli import arguments
from bot.demo import attempts
from bot.demo.operator import play
from bot.demo.place import CHECKOUT, PIPELINE, Place
from bot.demo.report import report
from bot.demo.show import Show, Stopped
from bot.demo.target import make_target
from bot.errors import BotError
from bot.pipeline import load_pipeline

PORT = 4010
AUTO_TIMEOUT_S = 1800.0
STATE = CHECKOUT / "var/demo"


def main(argv: list[str]) -> int:
    args = parse(argv)
    folder = args.state or (STATE / (f"{datetime.now():%Y%m%d-%H%M%S}" if args.auto else "state"))
    if args.fresh and folder.exists():
        shutil.rmtree(folder)
    place = Place(folder=folder.absolute())
    port = args.port if args.port is not None else 0 if args.auto or is_taken(PORT) else PORT
    try:
        with Show(place, args.pipeline, port, undo_s=0.2 if args.auto else 10.0) as show:
            make_target(show, args.pipeline)
            if not args.auto:
                return watch(show, args.pipeline)
            began_s = time.monotonic()
            run, killed = play(show, start_words(args.pipeline), args.timeout, args.kill_each_stage)
            found = report(run, attempts.starts(place.host_root), killed, time.monotonic() - began_s)
    except Stopped as stop:
        print(f"\n{stop}; nothing is left running, state is in {place.folder}", file=sys.stderr)
        return 128 + stop.number if args.auto else 0
    except BotError as error:
        raise BotError(f"demo: {error}\nstate and logs are in {place.folder}") from error
    print(json.dumps(found, ensure_ascii=False), flush=True)
    if not args.keep and args.state is None:
        shutil.rmtree(place.folder, ignore_errors=True)
    return 0 if found["started_once"] else 1


def parse(argv: list[str]) -> argparse.Namespace:
    to = arguments.parser("demo", __doc__ or "")
    to.add_argument("--auto", action="store_true", help="play the operator too, print one JSON line, exit")
    to.add_argument("--fresh", action="store_true", help="forget the earlier demo's state (--auto always starts anew)")
    to.add_argument("--keep", action="store_true", help="keep the state of a successful --auto")
    to.add_argument("--state", type=Path, help=f"folder for state and logs (default: below {STATE})")
    to.add_argument("--port", type=int, help=f"of the page on 127.0.0.1 (default: {PORT}, or a free one)")
    to.add_argument("--timeout", type=float, default=AUTO_TIMEOUT_S, help="seconds that --auto may take (%(default)s)")
    to.add_argument("--kill-each-stage", action="store_true", help="with --auto: kill the bot once in every stage")
    to.add_argument("--pipeline", type=Path, default=PIPELINE, help="another pipeline whose host is named `demo`")
    return to.parse_args(argv)


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def start_words(pipeline: Path) -> str:
    return f"start {load_pipeline(pipeline).name}"


def watch(show: Show, pipeline: Path) -> int:
    """Until it is stopped. The page opens with the plan."""
    if show.run() is None:
        show.ask(start_words(pipeline))
    print(f"\n  The channel: {show.url}/\n\n  The plan waits there for `go`. Ctrl-C ends it all.\n", flush=True)
    print(f"  logs: {show.place.folder}", flush=True)
    while True:
        show.pause(1.0)
