"""Private keys in a text, whole or cut."""

import re

MASK = "••••"
_KIND = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_WHOLE = re.compile(rf"-----BEGIN {_KIND}.*?(?:-----END {_KIND}|(?=```)|\Z)", re.DOTALL)
_END = re.compile(rf"-----END {_KIND}")
_BASE64 = re.compile(r"[A-Za-z0-9+/\\]+={0,2}")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash): .*")
_SHORTEST_BODY = 20
_SHORTEST_LINE = 40
_LONGEST_LINE = 80
_AROUND = " \t\"'`,;|"


def mask_keys(text: str) -> str:
    """`text` without private keys: also one of which only the end, or only lines from within, are there."""
    if "PRIVATE KEY" in text:
        *before, rest = _END.split(_WHOLE.sub(MASK, text))
        text = "".join(_without_body(piece) + MASK for piece in before) + rest
    return _without_runs(text) if len(text) > _SHORTEST_LINE else text


def _without_body(before: str) -> str:
    """What stands before an END line, less the lines of the key."""
    *lines, last = before.split("\n")
    word = _last_word(last)
    if last.endswith(word):  # a key in one line, or dashes of a log's own before END
        last = last[: len(last) - len(word)]
    first, ahead = len(lines), len(lines)
    while ahead:
        ahead -= 1
        line = lines[ahead].strip(_AROUND)
        if _HEADER.fullmatch(line) or _is_body(line, ahead == len(lines) - 1):
            first = ahead
        elif line:
            break
    return "\n".join([*lines[:first], last])


def _last_word(line: str) -> str:
    words = re.split(r"[\s\"'`|:>]", line.rstrip(_AROUND))
    return words[-1] if _BASE64.fullmatch(words[-1]) else ""


def _is_body(line: str, is_last: bool) -> bool:
    return (is_last and _BASE64.fullmatch(line) is not None) or len(_last_word(line)) >= _SHORTEST_BODY


def _without_runs(text: str) -> str:
    """Lines that follow each other and are nothing but base64 in a key's width are one."""
    kept: list[str] = []
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if _looks_random(line) and (
            (kept and kept[-1].endswith(MASK)) or (i + 1 < len(lines) and _looks_random(lines[i + 1]))
        ):
            if not (kept and kept[-1].endswith(MASK)):
                kept.append(MASK)
        else:
            kept.append(line)
    return "\n".join(kept)


def _looks_random(line: str) -> bool:
    """Base64 of a key's width: no path, no digest, no word is that mixed."""
    word = line.strip(_AROUND)
    if not _SHORTEST_LINE <= len(word) <= _LONGEST_LINE or _BASE64.fullmatch(word) is None or word[0] == "/":
        return False
    few = len(word) // 8
    return sum(c.isupper() for c in word) >= few <= sum(c.islower() for c in word) and sum(map(str.isdigit, word)) >= 2
