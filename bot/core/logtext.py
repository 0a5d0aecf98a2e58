"""Log bytes as they come, poll by poll, made into lines for people."""

import codecs
from dataclasses import dataclass, field

from runner.protocol.logtext import clean_line, clean_tail, shorten

TAIL_LINES, TAIL_WIDTH = 10, 300
WIDTH = 2000
_KEPT = 4 * WIDTH  # of a line that does not end, this much is kept to be shown


def newest_lines(before: str, log: bytes) -> tuple[str, int]:
    """The last lines known, after `before` and a further piece of a log; and how many bytes of it to read once more.

    A line that has not ended yet is left for the next piece, unless it is long.
    """
    ended = log.rfind(b"\n") + 1
    again = len(log) - ended
    if again > _KEPT:
        ended, again = len(log), 0
    told = clean_tail(log[:ended], whole=True, lines=TAIL_LINES, width=TAIL_WIDTH) if ended else ""
    return "\n".join([*before.splitlines(), *told.splitlines()][-TAIL_LINES:]), again


@dataclass
class LogText:
    """Feed it the bytes of one log in order; a character or an escape sequence may be cut anywhere.

    Memory is bounded whatever the log holds: of a line longer than `WIDTH` characters the rest is counted only.
    """

    started_inside: bool = False  # the first byte may lie within a character
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"), repr=False
    )
    _open: str = field(default="", repr=False)  # the line that has not ended yet
    _dropped: int = field(default=0, repr=False)  # characters of it that were not kept

    def feed(self, data: bytes) -> list[str]:
        """The lines that these bytes complete, cleaned."""
        if self.started_inside and data:
            data = data.lstrip(bytes(range(0x80, 0xC0)))
            self.started_inside = False
        *ends, self_open = self._decoder.decode(data).split("\n")
        lines = []
        for end in ends:
            self._extend(end)
            lines.append(self.unfinished)
            self._open, self._dropped = "", 0
        self._extend(self_open)
        return lines

    @property
    def unfinished(self) -> str:
        """The line that is still being written, as far as it is known."""
        line = shorten(clean_line(self._open), WIDTH)
        return f"{line}… (+{self._dropped} characters)" if self._dropped else line

    def _extend(self, text: str) -> None:
        text = self._open + text
        overwritten = text.rstrip("\r").rfind("\r")
        if overwritten >= 0:  # a progress line: what was drawn over is gone
            text, self._dropped = text[overwritten + 1 :], 0
        self._open = text[:_KEPT]
        self._dropped += len(text) - len(self._open)
