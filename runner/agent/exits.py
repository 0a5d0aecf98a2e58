"""How an attempt ended: a record in space reserved beforehand, and a second one by the wrapper."""

import glob
import json
import os
import signal
import time
from typing import Any, Dict, List, Optional

from runner.agent.crash import reach
from runner.protocol import VERSION
from runner.protocol.attempt import AttemptDir
from runner.protocol.errors import ProtocolError
from runner.protocol.files import read_json, sync_folder
from runner.protocol.times import utc_at, utc_now

RESERVED_BYTES = 4096

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
    for path, size in ((attempt.exit_reserve, RESERVED_BYTES), (attempt.wrapper_reserve, 0)):
        with open(path, "wb") as file:
            file.write(b" " * size)
            file.flush()
            os.fsync(file.fileno())


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
        "version": VERSION,
        "rc": rc,
        "signal": signal_of(rc),
        "ended_at": utc_now(),
        "by": "supervisor",
        "cause": cause,
        "survivors": survivors[:100],
        "swept": swept[:100],
    }
    body = json.dumps(record).encode("ascii")
    reach("supervisor.ended")
    while not _renamed(attempt, body):
        time.sleep(1.0)
    reach("supervisor.renamed")
    sync_folder(attempt.path)


def _renamed(attempt: AttemptDir, body: bytes) -> bool:
    """Fill the reserved file in place and give it its final name. False: not now, try again."""
    try:
        handle = os.open(attempt.exit_reserve, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return not os.path.isdir(attempt.path) or os.path.exists(attempt.exit)
    except OSError:
        return False
    try:
        os.pwrite(handle, body.ljust(RESERVED_BYTES - 1) + b"\n", 0)
        os.fsync(handle)
        reach("supervisor.record")
        os.rename(attempt.exit_reserve, attempt.exit)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


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
