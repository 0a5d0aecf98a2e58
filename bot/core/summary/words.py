"""Numbers and times in the words of the channel."""

from datetime import UTC, datetime

from bot.core.cards import escape
from bot.core.pipeline import Value


def count(value: float) -> str:
    """7102 -> 7,102; 1.5 -> 1.5."""
    return (
        f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1000 else f"{value:,.2f}".rstrip("0").rstrip(".")
    )


def size(num_bytes: float) -> str:
    """Decimal units, as disks are sold: 1.20 TB, 97 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(num_bytes) < 999.5:
            return f"{num_bytes:.3g} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.3g} TB" if num_bytes < 100 else f"{num_bytes:,.0f} TB"


def duration(seconds: float) -> str:
    """45 s, 12 m 05 s, 1 h 52 m, 3 d 4 h."""
    total = max(0, round(seconds))
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} m {total % 60:02d} s"
    if total < 86400:
        return f"{total // 3600} h {total % 3600 // 60:02d} m"
    return f"{total // 86400} d {total % 86400 // 3600} h"


def milestone(when: dict[str, float]) -> str:
    """9,000 samples; 80 %."""
    return " and ".join(f"{count(n)} {'%' if unit == 'percent' else escape(unit)}" for unit, n in when.items())


def moment(at: datetime) -> str:
    """A time that every reader sees in the own zone."""
    return f"<!date^{int(at.timestamp())}^{{time}}|{at:%H:%M} UTC>"


def ago(at: datetime) -> str:
    """A time with its day, in the reader's own zone."""
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}} {{time}}|{at:%d %b %H:%M} UTC>"


def parse_time(text: str | None) -> datetime | None:
    """A time of the contract, None when absent or no time."""
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def person(who: str) -> str:
    """A mention for ids of the chat, plain text for anybody else (an order from a terminal, say)."""
    if who.startswith("S") and who[1:].isalnum() and who.isupper():
        return f"<!subteam^{who}>"
    return f"<@{who}>" if who[:1] in ("U", "W") and who[1:].isalnum() and who.isupper() else escape(who)


def bar(percent: float, width: int = 20) -> str:
    """A progress bar of text."""
    full = round(width * max(0.0, min(100.0, percent)) / 100)
    return "█" * full + "░" * (width - full)


def value(found: Value) -> str:
    """A setting as an operator would type it."""
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, tuple):
        return ",".join(str(item) for item in found)
    if isinstance(found, float):
        return f"{found:g}"
    return escape(str(found))


def settings(values: dict[str, Value]) -> str:
    """`lr 0.0001` · `epochs 3`."""
    return " · ".join(f"`{name.replace('_', ' ')} {value(found)}`" for name, found in values.items())
