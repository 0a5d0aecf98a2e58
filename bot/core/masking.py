"""Secrets out of everything that is posted."""

import re
from collections.abc import Iterable

MASK = "••••"
_SHAPES = re.compile(
    r"\bhf_[A-Za-z0-9]{16,}"
    r"|\bx(?:ox[abprs]|app)-[A-Za-z0-9-]{8,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_NAMED = re.compile(
    r"(?i)\b((?:[a-z0-9]+_)*(?:token|secret|password|passwd|api_?key|access_?key))(\s*[=:]\s*[\"']?)([^\s\"']{6,})"
)
_SHORTEST = 6


def mask(text: str, known: Iterable[str] = ()) -> str:
    """`text` with known secret values, and whatever looks like one, replaced by dots."""
    for value in sorted({v for v in known if len(v) >= _SHORTEST}, key=len, reverse=True):
        text = text.replace(value, MASK)
    text = _SHAPES.sub(MASK, text)
    return _NAMED.sub(lambda m: m[1] + m[2] + MASK, text)
