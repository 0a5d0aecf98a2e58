"""What was checked and what it showed."""

import re
from typing import Any

from bot.core.cards import Part, Small, Text, escape

MARKS = {True: "✔", False: "✘"}
_SHOWN_BAD = 5
_SHORT_BOUND = 28
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")


def passed(checks: list[dict[str, Any]]) -> str:
    """What held, in a paragraph: ✔ exit 0 · samples 240 of 240 · recomputed 2.7e-06 (at most 1e-04)."""
    return f"{MARKS[True]} " + " · ".join(_short(check) for check in checks)


def _short(check: dict[str, Any]) -> str:
    """Name and what was found; a short bound too, for what was measured against one."""
    name, expected = escape(str(check["name"]).replace("_", " ")), check.get("expected")
    bound = isinstance(expected, str) and expected != check.get("found") and len(expected) <= _SHORT_BOUND
    return f"*{name}* {_plain(check.get('found'))}" + (f" ({escape(str(expected))})" if bound else "")


def line(check: dict[str, Any]) -> str:
    """One check with all that is known of it: ✘ samples 8,512 of 9,000 (expected 9,000 of 9,000)."""
    found, expected = check.get("found"), check.get("expected")
    said = _plain(found)
    if expected is not None and expected != found:
        said = f"{said} (expected {_plain(expected)})"
    detail = escape(str(check.get("detail") or ""))
    name = escape(str(check["name"]).replace("_", " "))
    ok = check.get("ok")
    mark = MARKS[ok] if ok is True or ok is False else "?"  # whatever else it says, it is not decided
    return f"{mark} *{name}* {said}" + (f" · {detail}" if detail else "")


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return escape(_DIGEST.sub(r"\1", str(value)))


def parts(evidence: dict[str, Any], heading: str = "Checked on the host") -> tuple[Part, ...]:
    """What did not hold, each on a line; what held; bad items by name; and the digest that the audit log keeps."""
    checks = evidence.get("checks", [])
    lines = [line(check) for check in checks if check.get("ok") is not True]
    held = [check for check in checks if check.get("ok") is True]
    lines += [passed(held)] if held else []
    bad = evidence.get("bad", [])
    shown = [f"• `{escape(str(item['id']))}`: {escape(str(item['why']))}" for item in bad[:_SHOWN_BAD]]
    if len(bad) > _SHOWN_BAD:
        shown.append(f"• and {len(bad) - _SHOWN_BAD:,} more")
    found: list[Part] = [Text(text=f"*{heading}*\n" + "\n".join(lines or ["nothing was checked"]))]
    if shown:
        found.append(Text(text="*Bad*\n" + "\n".join(shown)))
    found.append(Small(text=f"evidence {evidence.get('digest', '')[:12]} · {escape(evidence_path(evidence))}"))
    return tuple(found)


def evidence_path(evidence: dict[str, Any]) -> str:
    """Where the subject of the evidence lies."""
    return str(evidence.get("subject", {}).get("path", ""))


def brief(evidence: dict[str, Any]) -> str:
    """One line: what failed, or what was proven."""
    checks = evidence.get("checks", [])
    failed = [check for check in checks if check.get("ok") is not True]
    if evidence.get("verdict") == "proven":
        return f"{len(checks)} checks passed"
    return "; ".join(line(check) for check in failed[:3]) or f"{len(evidence.get('bad', []))} bad items"
