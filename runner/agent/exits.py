"""How an attempt ended: a record in space reserved beforehand, and a second one by the wrapper."""

import glob
import os
import signal
import time
from typing import Any, Dict, List, Optional

from runner.agent import reserved
from runner.agent.crash import reach
from runner.protocol.attempt import AttemptDir
from runner.protocol.errors import ProtocolError
from runner.protocol.files import read_json, sync_folder
from runner.protocol.times import utc_at, utc_now

CANCELLED = "cancelled"
WALL = "wall"
LEFT_OVERS = "left-overs"

# Runs the attempt's command and outlives its supervisor. It traps what ends the command, so that it can
# still tell how that ended; renaming a file that is there needs no space.
WRAPPER = (
    "trap : HUP INT QUIT TERM; "
    '"$@"; rc=$?; '
    'mv -f "$POINTSMAN_ATTEMPT_DIR/wrapper.rc" "$POINTSMAN_ATTEMPT_DIR/wrapper.rc.$rc"; '
    "exit $rc"
)


def reserve(attempt: AttemptDir) -> None:
    """Take the space that the records will need. Raises OSError."""
    reserved.take(attempt.exit_reserve)
    reserved.take(attempt.cancel_reserve)
    reserved.take(attempt.wrapper_reserve, 0)


def signal_of(rc: Optional[int]) -> Optional[int]:
    """The signal that a shell's exit code stands for, if it does."""
    if rc is None or rc <= 128:
        return None
    try:
        return int(signal.Signals(rc - 128))
    except ValueError:
        return None


def record_exit(attempt: AttemptDir, rc: Optional[int], cause: str, survivors: List[int], swept: List[int]) -> None:
    """Write `exit.json`, and go on trying until it is there."""
    record = {
        "rc": rc,
        "signal": signal_of(rc),
        "ended_at": utc_now(),
        "by": "supervisor",
        "cause": cause,
        "survivors": survivors[:100],
        "swept": swept[:100],
    }
    reach("supervisor.ended")
    while not _recorded(attempt, record):
        time.sleep(1.0)
    reach("supervisor.renamed")
    sync_folder(attempt.path)


def _recorded(attempt: AttemptDir, record: Dict[str, Any]) -> bool:
    """False: not now, try again."""
    try:
        reserved.fill(attempt.exit_reserve, record)
        reach("supervisor.record")
        os.rename(attempt.exit_reserve, attempt.exit)
        return True
    except FileNotFoundError:
        return not os.path.isdir(attempt.path) or os.path.exists(attempt.exit)
    except OSError:
        return False


def read_exit(attempt: AttemptDir) -> Optional[Dict[str, Any]]:
    """The supervisor's record, None when there is none. Raises ProtocolError."""
    try:
        return read_json(attempt.exit)
    except FileNotFoundError:
        return None


def read_wrapper(attempt: AttemptDir) -> Optional[Dict[str, Any]]:
    """The wrapper's record in the shape of the supervisor's. Raises ProtocolError."""
    found = glob.glob(glob.escape(attempt.wrapper_reserve) + ".*")
    if not found:
        return None
    try:
        rc = int(found[0].rpartition(".")[2])
        ended_s = os.stat(found[0]).st_ctime
    except (ValueError, OSError) as error:
        raise ProtocolError("%s cannot be read: %s" % (found[0], error)) from error
    return {"rc": rc, "signal": signal_of(rc), "ended_at": utc_at(ended_s), "by": "wrapper", "cause": ""}
