"""A picture of the run for the gate's card: loss and accuracy over steps, training and held-out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def draw(history: Sequence[dict[str, float]], path: Path) -> None:
    """Write a PNG. Lines of `history` with `loss`, `accuracy_0`… are training, with `held_…` held-out."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    _lines(left, history, {"loss": "training", "held_loss": "held out"})
    left.set(xlabel="optimizer step", ylabel="loss, weighted over draft steps", title="Loss")
    names = accuracies(history)
    held = {"held_" + name: f"{label}, held out" for name, label in names.items()}
    _lines(right, history, {**names, **held})
    right.set(xlabel="optimizer step", ylabel="agrees with the target's choice", title="Accuracy", ylim=(0, 1))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(fontsize=8)
    partial = path.with_suffix(".partial.png")
    figure.savefig(partial, dpi=110)
    pyplot.close(figure)
    partial.replace(path)


def accuracies(history: Sequence[dict[str, float]]) -> dict[str, str]:
    """Figures and labels of the first three draft steps; lines that only hold held-out figures have none of them."""
    found = {name for line in history for name in line if name.startswith("accuracy_")}
    return {name: f"step {name.split('_')[1]}" for name in sorted(found)[:3]}


def _lines(axes: Any, history: Sequence[dict[str, float]], names: dict[str, str]) -> None:
    for name, label in names.items():
        points = [(line["step"], line[name]) for line in history if name in line]
        if points:
            held = name.startswith("held_")
            axes.plot(
                *zip(*points, strict=True),
                label=label,
                marker="o" if held else None,
                linestyle="--" if held else "-",
                linewidth=1.4,
                markersize=4,
            )
