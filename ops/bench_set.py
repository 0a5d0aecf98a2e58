"""A set of 10,000 samples by a tiny model: memory of client and server, folders, resume decision, quick and full look.

The whole way is the real one: `runner extract` against a real server, then `runner verify extract`. With
`--no-server` the capture's writer is fed random states here instead: all but the first figures, in a minute.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from runner import identity, target, tiny
from runner.conversations import Conversation, write_conversations
from runner.extract.records import Records
from runner.journal import Journal
from runner.serve.settings import PATCHES

sys.path.insert(0, str(PATCHES / "capture"))

from pointsman_capture.assembly import Assembly
from pointsman_capture.folder import CaptureFolder
from pointsman_capture.settings import Settings
from pointsman_capture.writer import Writers

_EVERY_S = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(prog="ops/bench set", description=__doc__)
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--longest", type=int, default=32, help="tokens; the shortest has 4")
    parser.add_argument("--server", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="pointsman-set-"))
    try:
        found = _measure(args, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(json.dumps(found) if args.json else "\n".join(f"{name}: {value}" for name, value in found.items()))
    return 0


def _measure(args: argparse.Namespace, root: Path) -> dict[str, Any]:
    model, samples, out = root / "target", root / "samples", root / "features"
    target.make("tiny-llama", model)
    samples.mkdir()
    chance, made = random.Random(0), []
    for number in range(args.samples):
        ids = tuple(chance.randrange(8, tiny.VOCAB) for _ in range(chance.randint(4, args.longest)))
        made.append(Conversation(id=f"s{number:05d}", input_ids=ids, supervised=((len(ids) // 2, len(ids)),)))
    write_conversations(samples, made, tokenizer_digest=identity.tokenizer_digest(model), dropped={})
    extract = ["extract", "--target", model, "--samples", samples, "--out", out, "--dtype", "bfloat16"]
    found: dict[str, Any] = {"samples": args.samples, "server": args.server}
    if args.server:
        found["extract_s"], found["rss_mb_by_tenth"] = _run(root, extract, out / "journal.jsonl", args.samples)
    else:
        found["writer_rss_mb_by_tenth"] = _write(out, made)
        _run(root, extract)
    folders = Counter(path.parent.name for path in out.glob("samples/*/*"))
    found["folders"], found["most_files_a_folder"] = len(folders), max(folders.values())
    (out / "manifest.json").unlink()
    found["resume_s"] = _decide(root, extract)
    found["resume_whole_s"], _ = _run(root, extract)
    verify = ["verify", "extract", "--subject", out, "--samples", samples, "--target", model]
    for name, flags in (("quick", ["--quick"]), ("full", ["--full", "--recompute", "0"])):
        found[f"verify_{name}_s"], _ = _run(root, [*verify, *flags])
        evidence = json.loads((root / "attempt/evidence.json").read_text())
        found[f"verify_{name}_failed"] = [check["name"] for check in evidence["checks"] if check["ok"] is False]
    found["largest_rss_mb"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return found


def _write(out: Path, made: list[Conversation]) -> list[int]:
    """Files and journal as a server and its client leave them. Returns this process's memory at each tenth."""
    records, curve = Records.begin(out), []
    writers = Writers(CaptureFolder(out), Settings(out, "auto", 2, 8 << 20))
    assembly, rows = Assembly(writers), list[dict[str, Any]]()
    with Journal(out / "journal.jsonl") as journal:
        for number, each in enumerate(made):
            states = SimpleNamespace(
                hidden_states=torch.randn(len(each.input_ids), 3 * 128).bfloat16(),
                last_hidden_states=torch.randn(len(each.input_ids), 128).bfloat16(),
            )
            req = SimpleNamespace(rid=each.id, origin_input_ids=each.input_ids, is_retracted=False)
            req.inflight_middle_chunks, req.finished = 0, bool
            file = f"samples/{number // 1000:04d}/{each.id}.safetensors"
            asked = {"id": each.id, "file": file, "mask": ",".join(map(str, each.mask_runs))}
            assembly.take(req, asked, states, slice(0, len(each.input_ids)), True)
            if number % (len(made) // 10) == 0:
                curve.append(_rss_mb(os.getpid()))
        while len(rows) < len(made):
            rows += records.new()
            records.check_failure()
        for row in rows:
            journal.append(row)
    return curve


def _decide(root: Path, extract: list[Any]) -> float:
    """Seconds of the decision alone, in a process of its own."""
    program = (
        "import sys, time; from runner.flags import parse; from runner.extract.options import ExtractOptions;"
        "from runner.extract.plan import make_plan; options = parse(ExtractOptions, sys.argv[1:], '');"
        "began = time.monotonic(); plan = make_plan(options); seconds = time.monotonic() - began;"
        "assert not plan.missing(); print(seconds)"
    )
    argv = [sys.executable, "-c", program, *map(str, extract[1:])]
    return round(float(subprocess.run(argv, check=True, capture_output=True, env=_environment(root)).stdout), 2)


def _run(root: Path, argv: list[Any], journal: Path | None = None, total: int = 0) -> tuple[float, list[list[int]]]:
    """Seconds, and the memory of [client, largest server process] at each tenth of the journal."""
    began_s, curve = time.monotonic(), list[list[int]]()
    with (root / "log.txt").open("ab") as log:
        command = [sys.executable, "-m", "runner", *map(str, argv)]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment(root))
        while process.poll() is None:
            time.sleep(_EVERY_S if journal else 0.02)
            if journal and journal.exists() and journal.read_bytes().count(b"checksum") * 10 > len(curve) * total:
                curve.append([_rss_mb(process.pid), max(map(_rss_mb, _descendants(process.pid)), default=0)])
    if process.returncode:
        raise SystemExit((root / "log.txt").read_text()[-3000:])
    return round(time.monotonic() - began_s, 2), curve


def _environment(root: Path) -> dict[str, str]:
    (root / "attempt").mkdir(exist_ok=True)
    return {**os.environ, "POINTSMAN_ATTEMPT_DIR": str(root / "attempt"), "OMP_NUM_THREADS": "1"}


def _rss_mb(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_descendants(child)]
    return found


if __name__ == "__main__":
    sys.exit(main())
