"""What every stage shares: its status writer and its data folder's result."""

import functools
from pathlib import Path
from typing import Any

from runner.protocol.files import write_json
from runner.protocol.status import StatusWriter


@functools.cache
def status() -> StatusWriter:
    """The one status writer of this process."""
    return StatusWriter.from_environment()


def tell_start(text: str) -> None:
    """Status while a server starts."""
    status().update("starting", message=text)


def write_result(out: Path, stage: str, **numbers: Any) -> None:
    """`result.json` in the stage's data folder: the numbers that cards show. Written when the stage succeeded."""
    write_json(str(out / "result.json"), {"stage": stage, **numbers})
