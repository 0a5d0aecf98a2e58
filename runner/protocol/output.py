"""Standard output that nobody reads any more (`... | head`): the command ends there, and nothing is wrong."""

import os
import select
import sys
from typing import Callable, List, TextIO

UNREAD = 141  # as a shell shows a process that SIGPIPE ended


def until_unread(main: Callable[[List[str]], int], argv: List[str]) -> int:
    """The exit code. Another pipe that breaks is an error as any other."""
    try:
        try:
            return main(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not is_unread(sys.stdout):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD


def is_unread(stream: TextIO) -> bool:
    """Whether it is a pipe whose reader is gone."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(state & select.POLLERR for _, state in poll.poll(0))
    except (OSError, ValueError):  # closed, or no file at all
        return False
