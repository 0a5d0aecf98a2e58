"""`python -m bot start NAME`: plan a run."""

import argparse

from bot.cli import arguments, say


def main(argv: list[str]) -> int:
    to = arguments.parser("start", "Plan a run of a pipeline, as `start NAME` in the channel does. It waits for `go`.")
    to.add_argument("pipeline", help="its name")
    to.add_argument("rest", nargs=argparse.REMAINDER, help="what `say` takes too: --config FILE, --as WHO, --json")
    args = to.parse_args(argv)
    return say.main([f"start {args.pipeline}", *args.rest])
