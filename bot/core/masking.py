"""Secrets out of everything that is posted, printed or logged."""

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from urllib.parse import quote, quote_plus

from bot.core.cards import escape
from bot.core.keyblocks import MASK, mask_keys
from runner.protocol.logtext import clean_line

__all__ = ["MASK", "mask"]

# A prefix that no ordinary word ends in may stand behind letters (TOKENhf_…); the others start a word.
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{16,}|hf_[A-Za-z0-9]{20,}"
    r"|xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9%+/=._-]{8,}|(?<![A-Za-z0-9])xapp-[A-Za-z0-9-]{8,}|xapp-\d-[A-Za-z0-9-]{8,}"
    r"|(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|gl(?:pat|ptt|dt|rt|agent)-[A-Za-z0-9_-]{16,}"
    r"|(?<![A-Za-z0-9-])sk-[A-Za-z0-9_-]{20,}|sk-(?:ant|proj|or)-[A-Za-z0-9_-]{20,}|[rs]k_(?:live|test)_\w{16,}"
    r"|(?<![A-Za-z0-9])(?:npm|gsk|r8)_[A-Za-z0-9]{30,}|dckr_pat_[\w-]{20,}|nvapi-[\w-]{20,}|pypi-AgE[\w-]{20,}"
    r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[\w-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}"
    r"|(?<![A-Za-z0-9-])eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"
)
# What stands before a secret, and the secret as the last group.
_PLACED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(hooks\.slack(?:-gov)?\.com/[a-z]+/)([\w/-]{8,})",
        r"(discord(?:app)?\.com/api/webhooks/\d+/)([\w-]{8,})",
        r"(://[^\s/:@]{0,100}:)([^\s/?#\"'<>•]{1,300})(?=@)",
        r"(://)([A-Za-z0-9_-]{16,300})(?=@)",
        r"(authorization\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?(?:bearer|basic|token|digest)[ \t]+)([^\s\"'`\\]{4,})",
        r"(\bbearer[ \t]+)([A-Za-z0-9_.~+/-]{16,}=*)",
        r"(\bcookie[ \t]*:[ \t]*)(\w+=[^\n\"'`]+)",
        r"(\bwandb[ _]login[ \t]+(?:--relogin[ \t]+)?)([0-9a-f]{40})",
        r"(\bsshpass[ \t]+-p[ \t]*)([^\s\"'`]{4,})",
        r"(\bcurl\b[^\n]{0,200}?[ \t](?:-u|--user)[ \t=]+[\"']?\w+:)([^\s\"'`]{4,})",
        r"(x-amz-(?:signature|credential)=|[?&](?:amp;)?sig=)([^\s\"'&]{8,})",
    )
)
# "tokens" and "tokenizer" are other words; tokens of a model (eos_token, next_token) are no secrets.
_WORD = (
    r"(?:(?<!eos_)(?<!bos_)(?<!pad_)(?<!unk_)(?<!cls_)(?<!sep_)(?<!mask_)(?<!next_)(?<!last_)(?<!stop_)(?<!first_)"
    r"(?<!image_)(?<!audio_)(?<!draft_)(?<!special_)(?<!per_)(?<!new-)(?<!eos-)token"
    r"|secret|credentials?|api[_ -]?key|access[_ -]?key(?:[_-]?id)?|secret[_ -]?key|private[_ -]?key|auth[_ -]?key"
    r"|passwo?r?d|passphrase|(?:db|pg|my|sql|user|smtp|mail|ftp|ssh|redis|proxy|admin|root|sudo|rabbitmq)_?(?:pass|pwd)"
    r"|(?-i:(?<=[A-Z0-9])_(?:PASS|PWD))(?<!OLDPWD))(?:_?v?\d{1,2}(?!\d)|_base|_value)?"
)
_SIGN = r"\\?[\"']?[ \t]*(?:=>|={1,3}|:=|:)[ \t]*"
_BACKED = r"\\(?P<b>[\"'])(?P<backed>(?:(?!\\(?P=b)|```)[^\n])*)"  # \"…\", inside of another string
_QUOTED = r"[bruf]{0,2}(?P<q>[\"'])(?P<quoted>(?:\\.|(?!(?P=q)|```)[^\\\n])*)"
_BARE = r"(?P<bare>(?![:=])(?:(?!```)[^\s\"'])+)"
_NAMED = re.compile(rf"(?i)(?P<name>{_WORD}){_SIGN}(?:{_BACKED}|{_QUOTED}|{_BARE})")
_FLAG = re.compile(
    rf"(?i)(?<![\w-])--?(?:[a-z0-9]+[_-]){{0,6}}(?P<name>{_WORD})[ \t]+(?!-)(?:{_BACKED}|{_QUOTED}|{_BARE})"
)
_VALUES = ("backed", "quoted", "bare")
# Said of a secret, or where it comes from: worth reading, and no secret.
_NO_SECRET = re.compile(
    r"(?i)[\d,._+-]*|missing|invalid|required|expired|unset|absent|present|hidden|redacted|optional|default"
    r"|os\.(?:environ|getenv)\b.*|optional\[.*|(?:<|&lt;)\|.*\|(?:>|&gt;)[,;)}\]]*|</?s>|\[[A-Z]{3,5}\]|\**|•*"
    r"|~?(?-i:(?:/[a-z0-9._-]+){2,})/?|(?-i:\$?\{?[A-Z]+(?:_[A-Z]+)+\}?)"
)
_SHORTEST = 6
_SHORTEST_PASSWORD = 4
_SHORTEST_PIECE = 8
_SHORTEST_LINE = 12
_LONGEST_CUT = 200
# Cards show the end of a log and the start of a long line: what a cut left of a known value stands there.
_AFTER_CUT = re.compile(r"\A|```\n?")
_BEFORE_CUT = re.compile(r"…|\n?```|\Z")


def mask(text: str, known: Iterable[str] = ()) -> str:
    """`text` with known secret values, and whatever looks like one, replaced by dots."""
    if "\x1b" in text:  # a colour within a secret would hide it
        text = "\n".join(clean_line(line) for line in text.split("\n"))
    if values := _long_enough(known):
        text = _known(values)(text)
    text = _SHAPES.sub(MASK, mask_keys(text))
    for pattern in _PLACED:
        text = pattern.sub(_without_last, text)
    return _FLAG.sub(_without_value, _NAMED.sub(_without_value, text))


def _without_last(found: re.Match[str]) -> str:
    return found[1] + (found[2] if _NO_SECRET.fullmatch(found[2]) else MASK)


def _without_value(found: re.Match[str]) -> str:
    which = next(group for group in _VALUES if found[group] is not None)
    value = found[which].rstrip(",;)}]") if which == "bare" else found[which]
    password = "pass" in found["name"].lower() or "pwd" in found["name"].lower()
    if len(value) < (_SHORTEST_PASSWORD if password else _SHORTEST) or MASK in value:
        return found[0]
    if _NO_SECRET.fullmatch(value) and not (password and value[0].isdigit()):
        return found[0]
    start = found.start(which) - found.start()
    return found[0][:start] + MASK + found[0][start + len(value) :]


def _long_enough(known: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({value.strip() for value in known if len(value.strip()) >= _SHORTEST}))


@lru_cache(maxsize=8)
def _known(values: tuple[str, ...]) -> Callable[[str], str]:
    """Takes out these values in every form they are written in, and what a cut left of one."""
    forms = set[str]()
    for value in values:
        lines = {line.strip() for line in value.splitlines()}
        for piece in {value, *(line for line in lines if len(line) >= _SHORTEST_LINE)}:
            forms |= _forms(piece)
    whole = re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))
    short = [form for form in forms if len(form) <= _LONGEST_CUT]
    lengths = range(_SHORTEST_PIECE, max(map(len, short), default=0))
    ends = {form[-n:] for form in short for n in lengths if n < len(form)}
    starts = {form[:n] for form in short for n in lengths if n < len(form)}

    def without(text: str) -> str:
        text = whole.sub(MASK, text)
        for at in [found.end() for found in _AFTER_CUT.finditer(text)][::-1]:
            left = max((n for n in lengths if text[at : at + n] in ends), default=0)
            text = text[:at] + MASK * bool(left) + text[at + left :]
        for at in [found.start() for found in _BEFORE_CUT.finditer(text)][::-1]:
            left = max((n for n in lengths if n <= at and text[at - n : at] in starts), default=0)
            text = text[: at - left] + MASK * bool(left) + text[at:]
        return text

    return without


def _forms(value: str) -> set[str]:
    """As it is, as a card, JSON, Python and an address hold it."""
    plain = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    return {form for v in plain for form in (v, escape(v))} | {quote(value, safe=""), quote(value), quote_plus(value)}
