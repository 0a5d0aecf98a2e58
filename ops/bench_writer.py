"""The capture's writer alone, without a server: bytes a second to the last byte, beside the device's own rate.

Batches as SGLang gives them (on the GPU where there is one) go through the plugin's assembly, copies and writer
threads into files. Taking turns with it: as many files of the same sizes, written from memory and synced by as many
threads. The device's rate is the best of those over all numbers of threads.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from runner.extract.records import Records
from runner.serve.settings import PATCHES

sys.path.insert(0, str(PATCHES / "capture"))

from pointsman_capture.assembly import Assembly
from pointsman_capture.folder import CaptureFolder
from pointsman_capture.settings import Settings
from pointsman_capture.writer import Writers


def main() -> int:
    args = _arguments().parse_args()
    batches = _batches(args)
    found: list[dict[str, Any]] = []
    for place in args.out:
        for threads in args.writers:
            rates = [_turn(args, place, threads, batches) for _ in range(args.rounds + 1)][1:]  # the first warms up
            found.append(
                {
                    "out": str(place),
                    "writers": threads,
                    "ours_bytes_s": round(statistics.median(ours for ours, _ in rates)),
                    "plain_bytes_s": round(statistics.median(plain for _, plain in rates)),
                    "ours_all": [round(ours) for ours, _ in rates],
                    "plain_all": [round(plain) for _, plain in rates],
                }
            )
            print(_line(found[-1]), file=sys.stderr)
    for place in args.out:
        mine = [each for each in found if each["out"] == str(place)]
        device = max(each["plain_bytes_s"] for each in mine)
        for each in mine:
            each["of_device"] = round(each["ours_bytes_s"] / device, 3)
    if args.json:
        size = args.requests * _file_bytes(args)
        print(json.dumps({"hidden": args.hidden, "length": args.length, "bytes": size, "ways": found}))
    else:
        print("\n".join(f"{_line(each)}, {each['of_device']:.3f} of the device's best" for each in found))
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ops/bench writer", description=__doc__)
    parser.add_argument("--out", type=Path, action="append", required=True, help="where files go; may be repeated")
    parser.add_argument("--writers", type=int, nargs="+", default=[4], help="threads")
    parser.add_argument("--hidden", type=int, default=7168)
    parser.add_argument("--length", type=int, default=2048, help="tokens a request")
    parser.add_argument("--requests", type=int, default=64, help="a turn")
    parser.add_argument("--batch-tokens", type=int, default=16384)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queue-bytes", type=int, default=2 << 30)
    parser.add_argument("--station", type=Path, help="a folder in memory that files go through")
    parser.add_argument("--station-bytes", type=int, default=8 << 30)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser


def _file_bytes(args: argparse.Namespace) -> int:
    return int(args.length * (4 * args.hidden * 2 + 5))


def _batches(args: argparse.Namespace) -> list[SimpleNamespace]:
    """A few batches of random states, used in turn."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokens = max(1, args.batch_tokens // args.length) * args.length

    def states(width: int) -> torch.Tensor:
        return torch.randn(tokens, width, device=device, dtype=torch.bfloat16)

    return [
        SimpleNamespace(hidden_states=states(3 * args.hidden), last_hidden_states=states(args.hidden)) for _ in range(2)
    ]


def _turn(args: argparse.Namespace, place: Path, threads: int, batches: list[SimpleNamespace]) -> tuple[float, float]:
    """Bytes a second of the capture, then of plain files."""
    size = args.requests * _file_bytes(args)
    return size / _time_capture(args, place, threads, batches), size / _time_plain(args, place, threads)


def _time_capture(args: argparse.Namespace, place: Path, threads: int, batches: list[SimpleNamespace]) -> float:
    folder = place / "ours"
    records = Records.begin(folder)
    station = args.station / "ours" if args.station else None
    settings = Settings(folder, "auto", threads, args.queue_bytes, station, args.station_bytes)
    assembly = Assembly(Writers(CaptureFolder(folder), settings))
    rows = batches[0].hidden_states.shape[0]
    ids, mask = list(range(args.length)), f"1,{args.length - 1}"
    began_s = time.monotonic()
    batch = batches[0]
    for number in range(args.requests):
        start = number * args.length % rows
        if start == 0:
            batch = SimpleNamespace(**vars(batches[number * args.length // rows % len(batches)]))
        req = SimpleNamespace(rid=str(number), origin_input_ids=ids, is_retracted=False, inflight_middle_chunks=0)
        req.finished = bool
        asked = {"id": str(number), "file": f"samples/{number}.safetensors", "mask": mask}
        assembly.take(req, asked, batch, slice(start, start + args.length), True)
    written = 0
    while written < args.requests:
        written += len(list(records.new()))
        records.check_failure()
        time.sleep(0.001)
    seconds = time.monotonic() - began_s
    shutil.rmtree(folder)
    return seconds


def _time_plain(args: argparse.Namespace, place: Path, threads: int) -> float:
    folder, body = place / "plain", torch.randn(_file_bytes(args) // 4).numpy().data
    folder.mkdir(parents=True, exist_ok=True)

    def write(number: int) -> None:
        with (folder / str(number)).open("wb", buffering=0) as file:
            left = memoryview(body).cast("B")
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())

    began_s = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(write, range(args.requests)))
    seconds = time.monotonic() - began_s
    shutil.rmtree(folder)
    return seconds


def _line(each: dict[str, Any]) -> str:
    ours, plain = each["ours_bytes_s"] / 1e6, each["plain_bytes_s"] / 1e6
    return f"{each['out']}, {each['writers']} threads: ours {ours:.0f} MB/s, plain {plain:.0f} MB/s"


if __name__ == "__main__":
    sys.exit(main())
