"""A picture of a feature set: how long the conversations are, and how large the states of each layer."""

from collections.abc import Sequence
from pathlib import Path

from runner.manifest import Manifest


def draw(path: Path, manifest: Manifest, lengths: Sequence[int], norms: Sequence[Sequence[float]]) -> None:
    """`norms`: a sample's mean row norm for each captured index, then of the final state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.2), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(lengths, bins=min(40, max(5, len(set(lengths)))), color="#4878a8")
    left.set(xlabel="tokens a sample", ylabel="samples", title=f"{len(lengths)} samples, {sum(lengths):,} tokens")
    names = [*(f"state {index}" for index in manifest.capture.indices), "final"]
    if norms:
        right.boxplot(list(zip(*norms, strict=True)), widths=0.6, showfliers=False)
        right.set_xticks(range(1, len(names) + 1), names)
    right.set(ylabel="mean norm of a row", title=f"{manifest.model.name}, {manifest.dtype}")
    right.set_yscale("log")
    FigureCanvasAgg(figure).print_png(path)  # type: ignore[no-untyped-call]
