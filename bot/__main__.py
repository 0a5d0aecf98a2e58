"""`python -m bot VERB`: one file a verb in `bot.cli`."""

import importlib
import sys

from bot.errors import BotError, OperatorError
from runner.protocol.output import until_unread

VERBS = {
    "init": "write a configuration and say where tokens come from",
    "check": "look at tokens, scopes, hosts, keys, Python, GPUs and disk; a remedy for each fault",
    "plan": "explain a pipeline file: stages, settings, disk and time",
    "up": "run the bot",
    "start": "plan a run of a pipeline, as `start NAME` in the channel does",
    "runs": "list runs and where they stand",
    "say": "give an order from the terminal",
    "read": "show how a text would be read",
    "audit": "show who ordered what, and check the log's chain",
    "host": "prepare, check or clean a host",
    "trust": "trust a host's key",
    "demo": "run the whole job here on embedded defaults",
}


def usage() -> str:
    """The verbs, one a line."""
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {text}" for verb, text in VERBS.items()]
    return "\n".join(["usage: python -m bot VERB [--help]", "", *lines])


def main(argv: list[str]) -> int:
    """Run one verb; errors we know are told in words, without a traceback."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if argv else 2
    verb, *rest = argv
    if verb not in VERBS:
        print(f"unknown verb {verb!r}\n\n{usage()}", file=sys.stderr)
        return 2
    module = importlib.import_module(f"bot.cli.{verb}")
    try:
        return int(module.main(rest))
    except BotError as error:
        hint = error.hint if isinstance(error, OperatorError) and error.hint else ""
        print(f"{error}" + (f"\n{hint}" if hint else ""), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(until_unread(main, sys.argv[1:]))
