"""Products of float32 on this CPU: torch's own choice of library against oneDNN, at the demo's target's shapes.

Why the CPU stand-ins of SGLang multiply by oneDNN. Interleaved, best third of the repetitions; a ratio above 1 is
how many times oneDNN is faster.
"""

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn.functional import linear

# rows, inputs, outputs: single tokens, a verification of four, a batch, a prefill
SHAPES = [(rows, *matrix) for rows in (1, 4, 32, 256) for matrix in ((576, 3072), (1536, 576), (576, 49152))]
COPIES = 8  # of each matrix in turn, so that they come from memory as in a model


def stand_in() -> Callable[..., torch.Tensor]:
    """`multiply` as the server has it."""
    path = Path(__file__).resolve().parent.parent / "patches/sglang/cpu/pointsman_cpu.py"
    spec = importlib.util.spec_from_file_location("pointsman_cpu", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.multiply  # type: ignore[no-any-return]


def compare(rows: int, inputs: int, outputs: int, rounds: int) -> dict[str, float]:
    """Milliseconds of each, and the ratio."""
    x = torch.randn(rows, inputs)
    weights = [torch.randn(outputs, inputs) for _ in range(COPIES if outputs < 10_000 else 1)]
    ways = {"torch": linear, "onednn": stand_in()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds):
        for name, multiply in ways.items():
            weight = weights[turn % len(weights)]
            began_s = time.perf_counter()
            multiply(x, weight)
            seconds[name].append(time.perf_counter() - began_s)
    found = {name: sorted(each)[len(each) // 3] * 1000 for name, each in seconds.items()}
    return {"rows": rows, "inputs": inputs, "outputs": outputs, **found, "ratio": found["torch"] / found["onednn"]}


def main() -> int:
    to = argparse.ArgumentParser(prog="ops/bench linear", description=__doc__)
    to.add_argument("--json", action="store_true", help="print one line")
    to.add_argument("--rounds", type=int, default=40, help="repetitions (default %(default)s)")
    args = to.parse_args()
    with torch.inference_mode():
        found = [compare(*shape, args.rounds) for shape in SHAPES]
    if args.json:
        print(json.dumps({"version": 1, "threads": torch.get_num_threads(), "products": found}))
    else:
        for each in found:
            shape = "{rows:4.0f} x {inputs:5.0f} x {outputs:6.0f}".format(**each)
            print(shape, ": torch {torch:8.3f} ms, oneDNN {onednn:8.3f} ms, {ratio:.2f}x".format(**each))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
