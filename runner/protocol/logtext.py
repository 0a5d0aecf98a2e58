"""What a log means to a reader: control sequences taken out, overwritten progress lines reduced to the last."""

import re

# CSI, OSC and other string sequences (ended by BEL or ST), two-character escapes; each may be cut off at the end.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*(?:[@-~]|$)"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"
    r"|\x1b[ -/]*(?:[0-~]|$)"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean_line(line: str) -> str:
    """One line without its line feed, as a terminal would have left it (near enough for people)."""
    line = _ESCAPES.sub("", line).rstrip("\r")
    return _CONTROLS.sub("", line[line.rfind("\r") + 1 :])


def clean_tail(raw: bytes, whole: bool, lines: int, width: int) -> str:
    """The last `lines` lines of `raw`, each at most `width` characters.

    `whole` False: `raw` starts somewhere in a log, so its first line may be the end of one and is dropped,
    unless there is no other.
    """
    text = raw.decode("utf-8", "replace")
    parts = text.rstrip("\r\n").split("\n")
    if not whole and len(parts) > 1:
        parts = parts[1:]
    cleaned = [clean_line(part) for part in parts[-lines:]]
    return "\n".join(shorten(line, width) for line in cleaned)


def shorten(line: str, width: int) -> str:
    """At most `width` characters of a line, saying how many are left out."""
    if len(line) <= width:
        return line
    return "%s… (+%d characters)" % (line[:width], len(line) - width)
