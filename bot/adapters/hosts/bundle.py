"""The agent as it travels: its sources, compressed, behind a one-line program that unpacks them from standard input."""

import shlex
import zlib
from functools import cache
from pathlib import Path

import runner.protocol

_PACKAGES = ("runner", "runner.protocol", "runner.agent")
_START = "\ninstall({sources!r})\nfrom runner.agent.{entry} import main\nmain()\n"

# One line without single quotes, backslashes or exclamation marks within its reach of any login shell's quoting.
_BOOT = (
    'import os,sys,zlib;b=b"";exec("while len(b)<{size}:\\n c=os.read(0,{size}-len(b))\\n b+=c or sys.exit(3)");'
    "exec(zlib.decompress(b))"
)


@cache
def bundle() -> bytes:
    """A compressed program: the loader, all modules as text, and the start of the serve loop."""
    return zlib.compress(program("serve"), 9)


@cache
def job_program() -> bytes:
    """The program of a Slurm job: all modules as text, and the start of one attempt's supervisor."""
    return program("job")


def program(entry: str) -> bytes:
    top = Path(runner.protocol.__file__).parent.parent
    sources: dict[str, tuple[bool, str]] = {}
    for package in _PACKAGES:
        folder = top.joinpath(*package.split(".")[1:])
        sources[package] = (True, (folder / "__init__.py").read_text("utf-8"))
        if package != "runner":
            for file in sorted(folder.glob("*.py")):
                if file.stem != "__init__":
                    sources[f"{package}.{file.stem}"] = (False, file.read_text("utf-8"))
    loader = sources.pop("runner.agent.loader")[1]
    return (loader + _START.format(sources=sources, entry=entry)).encode("utf-8")


def command(python: str) -> str:
    """The shell command that runs the agent sent down its standard input."""
    return f"exec {quote(python)} -I -S -c {shlex.quote(_BOOT.format(size=len(bundle())))}"


def quote(path: str) -> str:
    """Quoted for a shell, but a leading `~/` still means the home folder there."""
    if path.startswith("~/"):
        return "~/" + shlex.quote(path[2:])
    return shlex.quote(path)
