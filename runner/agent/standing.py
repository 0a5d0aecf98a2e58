"""What can be told of an attempt, and how a record of its end is told."""

from typing import Any, Dict, NamedTuple, Optional

from runner.agent import exits
from runner.protocol import view
from runner.protocol.files import read_json


class State(NamedTuple):
    """`started` and `ended` are the records of the attempt's folder, None where there is none."""

    name: str
    why: str = ""
    started: Optional[Dict[str, Any]] = None
    ended: Optional[Dict[str, Any]] = None

    @property
    def over(self) -> bool:
        return self.name in (view.EXITED, view.LOST, view.CANCELLED)


def optional(path: str) -> Optional[Dict[str, Any]]:
    try:
        return read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def ending(started: Optional[Dict[str, Any]], ended: Dict[str, Any]) -> State:
    cause = ended.get("cause", "")
    if cause == exits.CANCELLED:
        return State(view.CANCELLED, "ended by an order", started, ended)
    why = ""
    if cause == exits.WALL:
        why = "ended at its time limit"
    elif cause == exits.LEFT_OVERS:
        why = "left %d processes behind, which were ended" % len(ended.get("swept", []))
    return State(view.EXITED, why, started, ended)
