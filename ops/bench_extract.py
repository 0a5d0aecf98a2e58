"""Extraction: prefill plain, with our capture to the last byte, with saving in the forward's way, with states as JSON.

All ways take turns on the same prompts, so that the machine's moods hit all of them. "naive" is a second server whose
plugin writes in the scheduler's own thread; both servers are up, one of them works. A way's rate ends with the last
byte under its final name, synced. Beside it: the rate at which as many threads write the same sizes of zeros there.
"""

import argparse
import contextlib
import functools
import json
import os
import random
import shlex
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.extract.records import Records
from runner.hf import load_config, text_config
from runner.serve import CaptureSettings, Server, ServerSettings, generate, serve


def main() -> int:
    args = _arguments().parse_args()
    config = text_config(load_config(args.target))
    chance = random.Random(0)
    prompts = [
        [chance.randrange(8, int(config["vocab_size"])) for _ in range(args.length)] for _ in range(args.requests)
    ]
    rates: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        ways = _start_ways(args, prompts, stack)
        for turn in range(-1, args.rounds):  # the first turn warms up
            for name, way in ways.items():
                rate = args.requests * args.length / way(turn)
                print(f"{name}: {rate:.0f} tok/s", file=sys.stderr)
                if turn >= 0:
                    rates.setdefault(name, []).append(rate)
    width = int(config["hidden_size"])
    size = args.requests * args.length * (4 * width * (4 if args.dtype == "float32" else 2) + 5)
    writes = {
        str(place): _write_rate(place, args.requests, size // args.requests, args.writers or 1) for place in args.out
    }
    _report(args, rates, size, writes)
    return 0


def _start_ways(
    args: argparse.Namespace, prompts: list[list[int]], stack: contextlib.ExitStack
) -> dict[str, Callable[[int], float]]:
    """Start the servers; each way gives the seconds of one turn, for all prompts."""
    ways: dict[str, Callable[[int], float]] = {}
    for place in args.out:
        ours = stack.enter_context(_started(args, place / "ours", args.writers))
        if not ways:
            ways["plain"] = functools.partial(ours.time_plain, prompts)
            if args.json_requests:
                ways["json"] = functools.partial(ours.time_json, prompts, args.json_requests)
        ways[f"ours {place}"] = functools.partial(ours.time, prompts)
        if args.naive:
            naive = stack.enter_context(_started(args, place / "naive", 0))
            ways[f"naive {place}"] = functools.partial(naive.time, prompts)
    return ways


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ops/bench extract", description=__doc__)
    parser.add_argument(
        "--target", type=Path, required=True, help="model folder (its weights may be --load-format dummy)"
    )
    parser.add_argument("--out", type=Path, action="append", required=True, help="where files go; may be repeated")
    parser.add_argument("--length", type=int, default=2048, help="tokens a prompt")
    parser.add_argument("--requests", type=int, default=64, help="prompts a turn")
    parser.add_argument("--json-requests", type=int, default=1, help="of them for SGLang's own JSON; 0 leaves it out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--queue-bytes", type=int, default=2 << 30)
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--chunked-prefill", type=int, default=16384)
    parser.add_argument("--naive", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--server-args", default="", help="more arguments for the servers")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser


@dataclass(frozen=True)
class Started:
    server: Server
    folder: Path
    records: Records

    def time_plain(self, prompts: list[list[int]], _turn: int) -> float:
        return self.time(prompts, None)

    def time_json(self, prompts: list[list[int]], few: int, _turn: int) -> float:
        return self.time(prompts[:few], None, states=True) * len(prompts) / few

    def time(self, prompts: list[list[int]], turn: int | None, states: bool = False) -> float:
        """Seconds for all prompts; with a `turn`, until the file of each is in place."""
        sampling: dict[str, Any] = {"max_new_tokens": 1, "temperature": 0, "ignore_eos": True}

        def ask(number: int) -> None:
            mine = dict(sampling)
            if turn is not None:
                name = f"t{turn + 1}-{number}"
                file = f"samples/{turn + 1:04d}/{name}.safetensors"
                mine["custom_params"] = {
                    "pointsman": {"id": name, "file": file, "mask": f"1,{len(prompts[number]) - 1}"}
                }
            wanted = states or turn is not None
            generate(self.server.url, prompts[number], mine, timeout_s=1800.0, return_hidden_states=wanted)

        began_s = time.monotonic()
        with ThreadPoolExecutor(len(prompts)) as pool:
            list(pool.map(ask, range(len(prompts))))
        written = 0
        while turn is not None and written < len(prompts):
            written += len(list(self.records.new()))
            self.records.check_failure()
            time.sleep(0.002)
        seconds = time.monotonic() - began_s
        shutil.rmtree(self.folder / "samples", ignore_errors=True)
        return seconds


@contextlib.contextmanager
def _started(args: argparse.Namespace, folder: Path, writers: int) -> Iterator[Started]:
    folder.mkdir(parents=True, exist_ok=True)
    layers = int(text_config(load_config(args.target))["num_hidden_layers"])
    records = Records.begin(folder)
    settings = ServerSettings(
        model=args.target,
        dtype=args.dtype,
        context_length=args.length + 8,
        chunked_prefill_tokens=args.chunked_prefill,
        max_total_tokens=max(args.chunked_prefill * 4, args.length * 4),
        tokenizer=False,
        capture=CaptureSettings(
            folder=folder, layer_ids=(1, layers // 2 - 1, layers - 4), writers=writers, queue_bytes=args.queue_bytes
        ),
        extra=tuple(shlex.split(args.server_args)),
    )
    log = Path(os.environ.get("OUT", str(folder))) / f"server-{writers}-{folder.parent.name}.log"
    with serve(settings, log, lambda text: print(text, end="\r", file=sys.stderr)) as server:
        yield Started(server, folder, records)


def _write_rate(place: Path, files: int, size: int, threads: int) -> float:
    """Bytes a second: plain files of `size`, written and synced by `threads`."""
    body, folder = bytes(size), place / "plain"
    folder.mkdir(parents=True, exist_ok=True)

    def write(number: int) -> None:
        with (folder / str(number)).open("wb", buffering=0) as file:
            file.write(body)
            os.fsync(file.fileno())

    began_s = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(write, range(files)))
    seconds = time.monotonic() - began_s
    shutil.rmtree(folder)
    return files * size / seconds


def _report(args: argparse.Namespace, rates: dict[str, list[float]], size: int, writes: dict[str, float]) -> None:
    middle = {name: statistics.median(values) for name, values in rates.items()}
    tokens = args.requests * args.length
    found = {
        name: {
            "tokens_s": round(rate, 1),
            "bytes_s": round(rate / tokens * size) if name.startswith(("ours", "naive")) else None,
            "of_plain": round(rate / middle["plain"], 4),
            "spread": [round(min(rates[name]), 1), round(max(rates[name]), 1)],
        }
        for name, rate in middle.items()
    }
    if args.json:
        writes = {place: round(rate) for place, rate in writes.items()}
        print(
            json.dumps(
                {"target": str(args.target), "tokens": tokens, "bytes": size, "ways": found, "write_bytes_s": writes}
            )
        )
        return
    for name, each in found.items():
        rate = f"{each['bytes_s'] / 1e6:8.1f} MB/s" if each["bytes_s"] else " " * 13
        print(f"{name:<32} {each['tokens_s']:>10.1f} tok/s {rate}  {each['of_plain']:.3f} of plain")
    for place, rate in writes.items():
        print(f"{place}: written plainly at {rate / 1e6:.1f} MB/s")


if __name__ == "__main__":
    sys.exit(main())
