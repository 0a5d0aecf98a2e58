"""What a host tells, made plain where it enters: storable texts, finite numbers, the types of the contract."""

import math
from typing import Any, Callable, Dict, List, Optional

from runner.protocol.errors import ProtocolError

DEPTH_MAX = 16
LARGEST = 1e18  # of what a stage counts: more is a slip, and no time or size can be made of it
_TABLES = ("rates", "eta_s", "disk")  # of a status: name -> number
_TEXTS = ("state", "message", "resume", "heartbeat_at")


def text(value: str) -> str:
    """As it was told, but for half surrogates and NULs, which neither databases nor chats take."""
    if value.isascii() and "\x00" not in value:
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\x00", "\ufffd")


def number(value: object) -> Optional[float]:
    """A finite number as a float, None for all else: booleans, text, NaN, infinities, integers beyond any float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def plain(value: Any, depth: int = 0) -> Any:
    """JSON that every store takes: texts made storable, NaN and infinities as words, nothing nested without end."""
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value if number(value) is not None else ("too large" if isinstance(value, int) else str(value))
    if depth >= DEPTH_MAX:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {text(str(key)): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, depth + 1) for each in value]
    return text(str(value))


def status(value: Any, problems: List[str]) -> Optional[Dict[str, Any]]:
    """A stage's status, without the fields that are not as the contract says; what is left out is named."""
    if value is None:
        return None
    if not isinstance(value, dict):
        problems.append("status.json holds no object")
        return None
    body = plain(value)
    checks: Dict[str, Callable[[Any], Any]] = {"progress": _progress, "error": _error}
    checks.update(dict.fromkeys(_TABLES, _table))
    checks.update(dict.fromkeys(_TEXTS, _said))
    for name, check in checks.items():
        if body.get(name) is None:
            continue
        kept = check(body[name])
        if kept is None:
            problems.append("status.json: %s is not as agreed" % name)
            del body[name]
        else:
            body[name] = kept
    return dict(body)


def result(value: Any, problems: List[str]) -> Optional[Dict[str, Any]]:
    """What a stage made, in plain JSON."""
    if value is None or isinstance(value, dict):
        return None if value is None else dict(plain(value))
    problems.append("result.json holds no object")
    return None


def evidence(value: Any, problems: List[str]) -> Optional[Dict[str, Any]]:
    """Evidence that agrees with its verdict and digest, else None. Made plain, it has the digest of what is kept."""
    if value is None:
        return None
    from runner.protocol.evidence import Evidence  # hashlib with its library: not in a supervisor's memory

    try:
        if not isinstance(value, dict):
            raise ProtocolError("evidence is no object")
        told = Evidence.from_json(value).to_json()
        kept = plain(told)
        return told if kept == told else Evidence.redone(kept).to_json()
    except ProtocolError as error:
        problems.append(text("evidence.json: %s" % error)[:500])
        return None


def metrics(lines: Any) -> List[Dict[str, float]]:
    """The figures of each line that are finite numbers; what is none (a time, NaN) is left out."""
    found = []
    for line in lines if isinstance(lines, list) else []:
        told = {text(str(k)): number(v) for k, v in line.items()} if isinstance(line, dict) else {}
        found.append({name: figure for name, figure in told.items() if figure is not None})
    return found


def _count(value: Any) -> Optional[float]:
    found = number(value)
    return value if found is not None and abs(found) <= LARGEST else None


def _progress(value: Any) -> Optional[Dict[str, Any]]:
    if not isinstance(value, dict) or _count(value.get("done")) is None:
        return None
    unit = value.get("unit", "")
    return dict(value, total=_count(value.get("total")), unit=unit if isinstance(unit, str) else "")


def _table(value: Any) -> Optional[Dict[str, float]]:
    if not isinstance(value, dict):
        return None
    return {name: each for name, each in value.items() if _count(each) is not None}


def _error(value: Any) -> Optional[Dict[str, str]]:
    if isinstance(value, str):
        return {"kind": "error", "message": value}
    if not isinstance(value, dict):
        return None
    return {name: each for name, each in value.items() if isinstance(each, str)}


def _said(value: Any) -> Optional[str]:
    return value if isinstance(value, str) else None
