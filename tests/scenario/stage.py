"""A small stage for scenarios: writes numbered files at a steady pace, and verifies them. Run on the "host"."""

import argparse
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))

from runner.protocol.evidence import Bad, Check, Evidence, Subject
from runner.protocol.files import write_json
from runner.protocol.status import Progress, StatusWriter


def work(args: argparse.Namespace) -> int:
    out, status = Path(args.out), StatusWriter.from_environment()
    out.mkdir(parents=True, exist_ok=True)
    with (out / "starts").open("a") as file:
        file.write(os.environ["POINTSMAN_TOKEN"] + "\n")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    for i in range(args.total):
        if args.fail_at is not None and i >= args.fail_at and not (out / "failed-once").exists():
            (out / "failed-once").touch()
            print("boom: the disk of \x1b[31mshame\x1b[0m", file=sys.stderr)
            return 3
        target = out / f"{i:05d}"
        if not target.exists():
            target.write_text(hashlib.sha256(str(i).encode()).hexdigest())
        rate = (i + 1) / max(1e-3, time.monotonic() - began)
        left = (args.total - i - 1) / rate
        status.update(
            "running",
            Progress(i + 1, args.total, "samples"),
            rates={"samples_s": rate},
            eta_s={"low": left, "likely": left, "high": left},
            force=True,
        )
        print(f"sample {i}", flush=True)
        time.sleep(args.seconds / args.total)
    while args.linger and Path(args.linger).exists():
        time.sleep(0.05)
    result = {"stage": args.stage, "samples": args.total}
    if args.stage == "bench":
        result |= {
            "baseline": {"tok_s": 90.0},
            "drafted": {"tok_s": 90.0 + args.steps, "acceptance_length": 1.5},
            "speedup": 1.1,
            "identical": 4,
            "total": 4,
            "in_words": f"With {args.steps} steps it pays.",
        }
    write_json(str(out / "result.json"), result)
    return 0


def verify(args: argparse.Namespace) -> int:
    out = Path(args.out)
    time.sleep(args.seconds)
    bad, found = [], 0
    for i in range(args.total):
        target = out / f"{i:05d}"
        if not target.exists():
            continue
        if target.read_text() != hashlib.sha256(str(i).encode()).hexdigest():
            bad.append(Bad(target.name, f"{target.stat().st_size} bytes, 64 expected"))
        found += 1
    checks = [
        Check("samples", found == args.total, found, args.total),
        Check("checksums", not bad, found - len(bad), found),
    ]
    evidence = Evidence(args.stage, Subject(str(out)), checks, bad)
    write_json(str(Path(os.environ["POINTSMAN_ATTEMPT_DIR"]) / "evidence.json"), evidence.to_json())
    print(json.dumps(evidence.to_json()))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["work", "verify"])
    parser.add_argument("--stage", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--total", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--fail-at", type=int)
    parser.add_argument("--linger", default="")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.1)
    known, _ = parser.parse_known_args()
    sys.exit({"work": work, "verify": verify}[known.verb](known))
