"""Writes ops/requirements/*.txt: exact pins, with everything below them, as installed in .venv.

To move a version: install it into .venv, run this, run `ops/test --full`, commit both.
`python ops/pins.py --check` changes nothing and fails when a file would change.
"""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).resolve().parent.parent
FOLDER = TOP / "ops" / "requirements"
# torch is installed first, from whichever source has the smallest build, with what that build asks for.
BUILD_OF_TORCH = re.compile(r"^(nvidia-|cuda-)")


def roots() -> dict[str, list[str]]:
    """Requirement lines by file: the extras of pyproject.toml, and SGLang's list on a CPU."""
    extras = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return {
        "bot": extras["bot"] + extras["workspace"],
        "postgres": extras["postgres"],
        "runner": extras["runner"],
        "sglang-cpu": [
            line for line in (FOLDER / "sglang-cpu.in").read_text().splitlines() if line[:1] not in ("", "#")
        ],
        "dev": extras["dev"],
    }


def close(lines: list[str]) -> dict[str, str]:
    """Name -> version of everything that the lines need, as installed. Raises PackageNotFoundError."""
    pins: dict[str, str] = {}
    todo: list[tuple[str, frozenset[str], bool]] = []
    seen: set[tuple[str, frozenset[str]]] = set()
    for line in lines:
        text, _, remark = line.partition("#")
        asked = Requirement(text.strip())
        todo.append((asked.name, frozenset(asked.extras), "alone" in remark))
    while todo:
        name, extras, alone = todo.pop()
        name = canonicalize_name(name)
        if (name, extras) in seen or (BUILD_OF_TORCH.match(name) and name != "nvidia-ml-py"):
            continue
        seen.add((name, extras))
        found = distribution(name)
        pins[name] = found.version.partition("+")[0]
        for need in () if alone else map(Requirement, found.requires or ()):
            wanted = need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras or {""})
            if wanted and not (name == "torch" and need.name == "triton"):
                todo.append((need.name, frozenset(need.extras), False))
    return pins


def draw(name: str, lines: list[str]) -> str:
    """One requirement file."""
    head = f"# Written by ops/pins.py: {name} with everything below it. Install with --no-deps.\n"
    return head + "".join(f"{pin}=={version}\n" for pin, version in sorted(close(lines).items()))


def main() -> int:
    stale = []
    for name, lines in roots().items():
        path = FOLDER / f"{name}.txt"
        body = draw(name, lines)
        if not path.exists() or path.read_text() != body:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(body)
    if stale:
        print("differ from .venv:" if "--check" in sys.argv else "written:", *stale)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PackageNotFoundError as error:
        sys.exit(f"not installed in .venv: {error}")
