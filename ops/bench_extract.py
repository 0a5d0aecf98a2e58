"""Extraction: prefill plain, with our capture to the last byte, with saving in the forward's way, with states as JSON.

All ways take turns on the same prompts, so that the machine's moods hit all of them. "naive" is a second server whose
plugin writes in the scheduler's own thread; both servers are up, one of them works. A way's rate ends with the last
byte under its final name, synced. Beside it: the rate at which as many threads write the same sizes of zeros there.

`--tp 2`: the servers have two tensor-parallel ranks, and their dump is compared with one rank's, file by file.
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
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.tp_dump import compare, make_target
from runner.extract.records import Records
from runner.hf import load_config, text_config
from runner.serve import CaptureSettings, Server, ServerSettings, generate, launch, wait_until_ready


def main() -> int:
    args = _arguments().parse_args()
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pointsman-extract-")))
        args.target = args.target or [make_target(scratch / "target", args.dtype)]
        args.out = args.out or [scratch / "out"]
        dumps = [_dumps(args, target) if args.tp > 1 else None for target in args.target]
        benches = [Bench(args, target, stack) for target in args.target]  # all servers start side by side
        for bench in benches:
            bench.wait()
        results = [bench.measure() | {"tp": args.tp, "dumps": dump} for bench, dump in zip(benches, dumps, strict=True)]
    if args.json:
        print(json.dumps({"targets": results}))
    else:
        print("\n".join(map(_words, results)))
    return 0


class Bench:
    """The servers of one target, and the ways that take turns on them."""

    def __init__(self, args: argparse.Namespace, target: Path, stack: contextlib.ExitStack) -> None:
        self._args, self._target = args, target
        self._config = text_config(load_config(target))
        self._prompts = _prompts(args, target, args.requests)
        self._started: list[Started] = []
        self._ways: dict[str, Callable[[int], float]] = {}
        for place in args.out:
            ours = self._start(stack, place / target.name / "ours", args.writers)
            if not self._ways:
                self._ways["plain"] = functools.partial(ours.time_plain, self._prompts)
                if args.json_requests:
                    self._ways["json"] = functools.partial(ours.time_json, self._prompts, args.json_requests)
            self._ways[f"ours {place}"] = functools.partial(ours.time, self._prompts)
            if args.naive:
                naive = self._start(stack, place / target.name / "naive", 0)
                self._ways[f"naive {place}"] = functools.partial(naive.time, self._prompts)

    def _start(self, stack: contextlib.ExitStack, folder: Path, writers: int) -> "Started":
        started = stack.enter_context(_started(self._args, self._target, folder, writers, self._args.tp))
        self._started.append(started)
        return started

    def wait(self) -> None:
        for started in self._started:
            wait_until_ready(started.server, started.settings, lambda text: print(text, end="\r", file=sys.stderr))

    def measure(self) -> dict[str, Any]:
        args, rates = self._args, dict[str, list[float]]()
        for turn in range(-1, args.rounds):  # the first turn warms up
            for name, way in self._ways.items():
                rate = args.requests * args.length / way(turn)
                print(f"{self._target.name}, {name}: {rate:.0f} tok/s", file=sys.stderr)
                if turn >= 0:
                    rates.setdefault(name, []).append(rate)
        width = int(self._config["hidden_size"])
        each = args.length * (4 * width * (4 if args.dtype == "float32" else 2) + 5)
        writes = {str(place): round(_write_rate(place, args.requests, each, args.writers or 1)) for place in args.out}
        size = args.requests * each
        found = _found(rates, args.requests * args.length, size)
        return {"target": self._target.name, "bytes": size, "ways": found, "write_bytes_s": writes}


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ops/bench extract", description=__doc__)
    parser.add_argument("--target", type=Path, action="append", help="model folder; may be repeated (default: random)")
    parser.add_argument("--out", type=Path, action="append", help="where files go; may be repeated (default: scratch)")
    parser.add_argument("--tp", type=int, default=1, help="tensor-parallel ranks of the servers")
    parser.add_argument("--dp-attention", action="store_true", help="with --tp: compare a dump under that, too")
    parser.add_argument("--compare", type=int, default=8, help="prompts of the dumps that --tp compares")
    parser.add_argument("--length", type=int, default=2048, help="tokens a prompt")
    parser.add_argument("--requests", type=int, default=64, help="prompts a turn")
    parser.add_argument("--json-requests", type=int, default=1, help="of them for SGLang's own JSON; 0 leaves it out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--queue-bytes", type=int, default=2 << 30)
    parser.add_argument("--station", type=Path, help="folder in memory that our files go through on their way")
    parser.add_argument("--station-bytes", type=int, default=8 << 30)
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--chunked-prefill", type=int, default=16384)
    parser.add_argument("--naive", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--server-args", default="", help="more arguments for the servers")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser


@dataclass(frozen=True)
class Started:
    server: Server
    settings: ServerSettings
    folder: Path
    records: Records

    def time_plain(self, prompts: list[list[int]], _turn: int) -> float:
        return self.time(prompts, None)

    def time_json(self, prompts: list[list[int]], few: int, _turn: int) -> float:
        return self.time(prompts[:few], None, states=True) * len(prompts) / few

    def time(self, prompts: list[list[int]], turn: int | None, states: bool = False) -> float:
        """Seconds for all prompts; with a `turn`, until the file of each is in place. The files are removed."""
        seconds = self.dump(prompts, turn, states)
        shutil.rmtree(self.folder / "samples", ignore_errors=True)
        return seconds

    def dump(self, prompts: list[list[int]], turn: int | None, states: bool = False) -> float:
        """The same, and the files stay."""
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
        return time.monotonic() - began_s


def _prompts(args: argparse.Namespace, target: Path, count: int) -> list[list[int]]:
    chance, vocab = random.Random(0), int(text_config(load_config(target))["vocab_size"])
    return [[chance.randrange(8, vocab) for _ in range(args.length)] for _ in range(count)]


def _dumps(args: argparse.Namespace, target: Path) -> dict[str, Any]:
    """One rank's dump beside that of several."""

    def start(folder: Path, ranks: int, more: tuple[str, ...]) -> contextlib.AbstractContextManager[Started]:
        return _started(args, target, folder, args.writers, ranks, more)

    root = args.out[0] / target.name / "dumps"
    shutil.rmtree(root, ignore_errors=True)
    found = compare(start, root, _prompts(args, target, args.compare), args.tp, args.dp_attention, args.dtype)
    shutil.rmtree(root)
    print(f"{target.name}, dumps: {json.dumps(found)}", file=sys.stderr)
    return found


@contextlib.contextmanager
def _started(
    args: argparse.Namespace, target: Path, folder: Path, writers: int, ranks: int, more: tuple[str, ...] = ()
) -> Iterator[Started]:
    folder.mkdir(parents=True, exist_ok=True)
    layers = int(text_config(load_config(target))["num_hidden_layers"])
    records = Records.begin(folder)
    settings = ServerSettings(
        model=target,
        dtype=args.dtype,
        context_length=args.length + 8,
        chunked_prefill_tokens=args.chunked_prefill,
        max_total_tokens=max(args.chunked_prefill * 4, args.length * 4),
        tokenizer=False,
        tensor_parallel=ranks,
        capture=CaptureSettings(
            folder=folder,
            layer_ids=(1, layers // 2, layers - 2),
            writers=writers,
            queue_bytes=args.queue_bytes,
            station=args.station / target.name if args.station and writers else None,
            station_bytes=args.station_bytes,
        ),
        extra=(*shlex.split(args.server_args), *more),
    )
    place = "-".join(folder.parts[-4:]).strip("/")
    with launch(settings, Path(os.environ.get("OUT", str(folder))) / f"server-{place}.log") as server:
        yield Started(server, settings, folder, records)


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


def _found(rates: dict[str, list[float]], tokens: int, size: int) -> dict[str, dict[str, Any]]:
    middle = {name: statistics.median(values) for name, values in rates.items()}
    return {
        name: {
            "tokens_s": round(rate, 1),
            "bytes_s": round(rate / tokens * size) if name.startswith(("ours", "naive")) else None,
            "of_plain": round(rate / middle["plain"], 4),
            "all": [round(each, 1) for each in rates[name]],
        }
        for name, rate in middle.items()
    }


def _words(result: dict[str, Any]) -> str:
    lines = [f"{result['target']}, {result['bytes'] / 1e6:.0f} MB a turn"]
    for name, each in result["ways"].items():
        rate = f"{each['bytes_s'] / 1e6:8.1f} MB/s" if each["bytes_s"] else " " * 13
        lines.append(f"  {name:<32} {each['tokens_s']:>10.1f} tok/s {rate}  {each['of_plain']:.3f} of plain")
    for name, each in (result["dumps"] or {}).items():
        lines.append(f"  {name} of {result['tp']} ranks against one: {json.dumps(each)}")
    lines += [f"  {place}: written plainly at {rate / 1e6:.1f} MB/s" for place, rate in result["write_bytes_s"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
