"""`python -m runner patch`: SGLang's model files changed for capture, on hosts that cannot load plugins.

A file is known by its content: its git blob id is that before the patch, or that after it. Any other is refused.
"""

import argparse
import hashlib
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.protocol.errors import DataError, PatchMismatch
from runner.protocol.files import write_bytes
from runner.serve.settings import PATCHES

_HEAD = re.compile(r"diff --git a/(?P<file>\S+) b/\S+\nindex (?P<before>[0-9a-f]{40})\.\.(?P<after>[0-9a-f]{40}) ")
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True)
class Hunk:
    """`old` and `new` are the lines of either side, with their ends; the numbers are those of their first lines."""

    old_start: int
    new_start: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class Patch:
    """A change of one file. `before` and `after` are git blob ids."""

    file: str
    before: str
    after: str
    hunks: tuple[Hunk, ...]

    @staticmethod
    def read(path: Path) -> "Patch":
        """From a unified diff with full blob ids, as `git diff --full-index` writes it. Raises DataError."""
        text = path.read_text(encoding="utf-8")
        head = _HEAD.search(text)
        if head is None:
            raise DataError(f"{path}: no patch with full blob ids")
        return Patch(head["file"], head["before"], head["after"], tuple(_hunks(text.splitlines(keepends=True))))

    def state(self, site: Path) -> str:
        """original or patched. Raises PatchMismatch for any other content."""
        found = _blob_id(_read(site / self.file))
        for name, known in (("original", self.before), ("patched", self.after)):
            if found == known:
                return name
        raise PatchMismatch(
            f"{site / self.file} is neither the file that the patch knows nor its outcome (blob {found[:12]})",
            "install the SGLang release that this patch is for, unchanged",
        )

    def change(self, site: Path, wanted: str) -> bool:
        """Bring the file into the state `wanted`; False when it was. Raises PatchMismatch, and writes nothing then."""
        if self.state(site) == wanted:
            return False
        lines = _read(site / self.file).decode("utf-8").splitlines(keepends=True)
        changed = "".join(_changed(lines, self.hunks, wanted == "original")).encode()
        if _blob_id(changed) != (self.after if wanted == "patched" else self.before):
            raise PatchMismatch(f"{self.file}: the patch's own lines do not lead to the file that it names")
        write_bytes(str(site / self.file), changed)
        return True


def known_patches() -> list[Patch]:
    return [Patch.read(path) for path in sorted((PATCHES / "model-files").glob("*.patch"))]


def main(argv: Sequence[str]) -> int:
    """`status`, `apply` or `reverse`; all files or, when one is unknown, none."""
    parser = argparse.ArgumentParser(prog="python -m runner patch", description=__doc__)
    parser.add_argument("do", choices=("status", "apply", "reverse"))
    parser.add_argument("--site", type=Path, help="folder that holds sglang/ (default: that of the installed one)")
    args = parser.parse_args(argv)
    site: Path = args.site or _installed()
    patches = known_patches()
    states = [patch.state(site) for patch in patches]
    for patch, state in zip(patches, states, strict=True):
        if args.do != "status":
            wanted = "patched" if args.do == "apply" else "original"
            state = f"{wanted} (was {state})" if patch.change(site, wanted) else f"{wanted} already"
        print(f"{site / patch.file}: {state}")
    return 0


def _installed() -> Path:
    found = importlib.util.find_spec("sglang")
    if found is None or not found.submodule_search_locations:
        raise DataError("no sglang is installed beside this Python", "give its folder by --site")
    return Path(next(iter(found.submodule_search_locations))).parent


def _hunks(lines: Sequence[str]) -> list[Hunk]:
    hunks: list[Hunk] = []
    starts = [number for number, line in enumerate(lines) if line.startswith("@@")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        numbers, body = _HUNK.match(lines[start]), lines[start + 1 : end]
        if numbers is None:
            raise DataError(f"no hunk: {lines[start].strip()}")
        old = tuple(line[1:] for line in body if line[0] in " -")
        new = tuple(line[1:] for line in body if line[0] in " +")
        hunks.append(Hunk(int(numbers[1]), int(numbers[2]), old, new))
    return hunks


def _changed(lines: list[str], hunks: Sequence[Hunk], reverse: bool) -> list[str]:
    """From the last hunk to the first, so that line numbers stay true."""
    for hunk in reversed(hunks):
        start, there, wanted = (hunk.old_start, hunk.old, hunk.new)
        if reverse:
            start, there, wanted = (hunk.new_start, hunk.new, hunk.old)
        if tuple(lines[start - 1 : start - 1 + len(there)]) != there:
            raise PatchMismatch(f"line {start} is not what the patch expects")
        lines = [*lines[: start - 1], *wanted, *lines[start - 1 + len(there) :]]
    return lines


def _blob_id(body: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PatchMismatch(f"{path}: no such file of SGLang: {error}", "give the folder that holds sglang/") from error
