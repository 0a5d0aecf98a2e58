"""Arguments that several verbs share."""

import argparse
from pathlib import Path

from bot.config import DEFAULT_PATH


def parser(verb: str, description: str, more: str = "") -> argparse.ArgumentParser:
    """A parser that names its verb and shows defaults; `more` follows the arguments as it is written."""
    return argparse.ArgumentParser(
        prog=f"python -m bot {verb}",
        description=description,
        epilog=more or None,
        formatter_class=argparse.RawTextHelpFormatter if more else argparse.HelpFormatter,
    )


def add_config(to: argparse.ArgumentParser) -> None:
    """--config"""
    to.add_argument("--config", type=Path, default=DEFAULT_PATH, help="the bot's configuration (default: %(default)s)")
