"""`bench.png`: tokens a second with their spread, and acceptance by draft position."""

from pathlib import Path
from typing import Any

from runner.protocol.files import write_bytes

_BASELINE, _DRAFTED, _INK = "#8a8f98", "#2f6fde", "#30343b"
_BARS = (
    (-0.2, "baseline_tok_s", _BASELINE, "target alone"),
    (0.2, "drafted_tok_s", _DRAFTED, "with drafter"),
)


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw the figures of a result body into a PNG."""
    import io

    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_speed(left, result["by_concurrency"])
    _draw_acceptance(right, result["acceptance"], result["settings"]["steps"])
    body = io.BytesIO()
    figure.savefig(body, format="png")
    write_bytes(str(path), body.getvalue())


def _draw_speed(axes: Any, rows: list[dict[str, Any]]) -> None:
    for shift, side, colour, label in _BARS:
        medians = [row[side]["median"] for row in rows]
        below = [row[side]["median"] - row[side]["min"] for row in rows]
        above = [row[side]["max"] - row[side]["median"] for row in rows]
        places = [index + shift for index in range(len(rows))]
        bars = axes.bar(places, medians, 0.38, color=colour, label=label, yerr=(below, above), ecolor=_INK, capsize=4)
        axes.bar_label(bars, fmt="{:,.1f}", padding=3, fontsize=8, color=_INK)
    labels = [f"{row['concurrency']} in flight\n{row['speedup']['median']:.2f}x" for row in rows]
    axes.set_xticks(range(len(rows)), labels)
    axes.set_ylabel("tokens/s (median, min to max)")
    axes.margins(y=0.18)
    axes.legend(frameon=False, fontsize=8)
    _clear(axes)


def _draw_acceptance(axes: Any, acceptance: dict[str, Any] | None, steps: int) -> None:
    rates = acceptance["by_position"] if acceptance else []
    bars = axes.bar(range(1, len(rates) + 1), rates, 0.6, color=_DRAFTED)
    axes.bar_label(bars, fmt="{:.0%}", padding=3, fontsize=8, color=_INK)
    axes.set_xticks(range(1, steps + 1))
    axes.set_xlabel("draft position")
    axes.set_ylabel("accepted, if reached")
    axes.set_ylim(0, 1)
    title = f"acceptance length {acceptance['length']:.2f}" if acceptance else "nothing was drafted"
    axes.set_title(title, fontsize=10, color=_INK)
    _clear(axes)


def _clear(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
