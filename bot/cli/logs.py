"""How the bot's own log lines look: secrets masked, in tracebacks too."""

import logging
from collections.abc import Callable, Iterable

from bot.core.masking import mask

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class MaskedLines(logging.Formatter):
    """`known` gives the values that are secret; until it is set, secrets are told by their looks alone."""

    known: Callable[[], Iterable[str]] = tuple

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record), self.known())


def open_log(level: int) -> MaskedLines:
    """Log to standard error; returns what formats the lines."""
    lines = MaskedLines(_FORMAT)
    handler = logging.StreamHandler()
    handler.setFormatter(lines)
    logging.basicConfig(level=level, handlers=[handler])
    return lines
