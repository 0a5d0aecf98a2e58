"""The environment that stages run in: made from requirement lists, or looked at. Runs with any Python from 3.8 on.

`make AT --requirements TEXT…` makes a venv; it is there once `AT/made.json` is, and may be stopped and repeated.
`look --need NAME… --path PATH…` tells versions and what is there, without judging it.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from runner.protocol.attempt import AttemptDir
from runner.protocol.files import write_json
from runner.protocol.times import utc_now

MADE = "made.json"  # its time is that of the last use, for those who collect what is not used
PATCHES = Path(__file__).resolve().parent.parent / "patches" / "sglang"


def make(at: Path, requirements: list[str]) -> None:
    """A venv of this Python with what the lists name. Raises CalledProcessError."""
    at.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with at.with_name(at.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two at once the second finds it made
        if (at / MADE).exists():
            os.utime(at / MADE)
            print(f"{at} is there", flush=True)
            return
        print(f"making {at} with Python {sys.version.split()[0]}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(at)], check=True)
        lists = []
        for number, text in enumerate(requirements):
            path = at / f"requirements-{number}.txt"
            path.write_text(text, encoding="utf-8")
            lists += ["-r", str(path)]
        pip = [str(at / "bin" / "python"), "-m", "pip", "--no-input", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--progress-bar", "off", *lists], check=True)
        write_json(str(at / MADE), {"python": sys.version.split()[0], "at": utc_now()})


def look(need: list[str], paths: list[str]) -> dict[str, Any]:
    """This environment: `packages` (None: missing), `patches` with the SGLang that each knows, `torch`."""
    if (Path(sys.prefix) / MADE).exists():
        os.utime(Path(sys.prefix) / MADE)
    found: dict[str, Any] = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable,
        "packages": {name: version(name) for name in need},
        "paths": [[path, Path(path).exists()] for path in paths],
        "patches": {name: knows for path in sorted(PATCHES.glob("*/*.dist-info")) for name, knows in [patch(path)]},
    }
    if found["packages"].get("torch"):
        found["torch"] = look_at_torch()
    return found


def version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def patch(path: Path) -> tuple[str, str]:
    """`capture`, `0.5.23` of `capture/pointsman_capture-0.5.23.dist-info`."""
    return path.parent.name, path.stem.rpartition("-")[2]


def look_at_torch() -> dict[str, Any]:
    """Whether torch can be imported, and how many GPUs it can use."""
    try:
        import torch

        return {"cuda": torch.version.cuda, "gpus": torch.cuda.device_count()}
    except Exception as error:  # a driver or a library that does not fit shows itself in many ways
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def main(argv: list[str]) -> int:
    to = argparse.ArgumentParser(prog="python -m runner.environment", description=__doc__)
    verbs = to.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("make")
    making.add_argument("at", type=Path)
    making.add_argument("--requirements", action="append", default=[])
    looking = verbs.add_parser("look")
    looking.add_argument("--need", action="append", default=[])
    looking.add_argument("--path", action="append", default=[])
    args = to.parse_args(argv)
    if args.verb == "make":
        try:
            make(args.at, args.requirements)
        except subprocess.CalledProcessError as error:
            print(f"failed with exit code {error.returncode}: {' '.join(error.cmd[1:4])}", flush=True)
            return 1
        return 0
    out = Path(AttemptDir(os.environ["POINTSMAN_ATTEMPT_DIR"]).out)
    write_json(str(out / "result.json"), look(args.need, args.path))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
