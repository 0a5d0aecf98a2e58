"""What a stage says of itself while it works: `status.json` and `metrics.jsonl`."""

import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, Optional

from runner.protocol.attempt import AttemptDir
from runner.protocol.errors import StageError
from runner.protocol.files import write_json
from runner.protocol.times import utc_now


@dataclass(frozen=True)
class Progress:
    """How far the stage is: `done` of `total` in `unit` (samples, steps, prompts, tokens)."""

    done: float
    total: Optional[float]
    unit: str


@dataclass
class StatusWriter:
    """Writes a stage's status; outside an attempt it prints the progress to stderr instead.

    At most one write a second, unless forced; `beat` keeps the heartbeat when nothing else changes.
    """

    attempt: Optional[AttemptDir]
    every_s: float = 1.0
    _last_s: float = field(default=-1e9, repr=False)
    _body: Dict[str, Any] = field(default_factory=dict, repr=False)

    @staticmethod
    def from_environment() -> "StatusWriter":
        folder = os.environ.get("POINTSMAN_ATTEMPT_DIR")
        return StatusWriter(AttemptDir(folder) if folder else None)

    def update(
        self,
        state: str,
        progress: Optional[Progress] = None,
        rates: Optional[Dict[str, float]] = None,
        eta_s: Optional[Dict[str, float]] = None,
        disk: Optional[Dict[str, float]] = None,
        message: Optional[str] = None,
        resume: Optional[str] = None,
        force: bool = False,
    ) -> None:
        """Record what is known now. `resume`: what a repeat goes on from.

        Keys of `rates`: samples_s, tokens_s, bytes_s; of `eta_s`: low, likely, high.
        """
        given = {
            "state": state,
            "progress": asdict(progress) if progress else None,
            "rates": rates,
            "eta_s": eta_s,
            "disk": disk,
            "message": message,
            "resume": resume,
        }
        changed_state = self._body.get("state") != state
        self._body.update({k: v for k, v in given.items() if v is not None})
        now_s = time.monotonic()
        if not (force or changed_state) and now_s - self._last_s < self.every_s:
            return
        self._last_s = now_s
        self._write()

    def beat(self) -> None:
        """Renew the heartbeat. Call at least every 10 s."""
        self.update(self._body.get("state", "running"))

    def fail(self, error: StageError) -> None:
        """Record why the stage stopped."""
        self._body.update(state="failed", error=error.to_json(), message=error.message)
        self._write()

    def _write(self) -> None:
        body = dict({"error": None, "progress": None, "rates": {}}, **self._body)
        body["heartbeat_at"] = utc_now()
        if self.attempt is not None:
            write_json(self.attempt.status, body)
            return
        done = self._body.get("progress")
        far = "%s/%s %s" % (done["done"], done["total"], done["unit"]) if done else ""
        sys.stderr.write("[%s] %s %s\n" % (body["state"], far, body.get("message") or ""))

    def metric(self, step: int, **values: float) -> None:
        """Append one line to `metrics.jsonl`: step, at, name -> number."""
        if self.attempt is None:
            return
        line = json.dumps(dict(values, step=step, at=utc_now()))
        with open(self.attempt.metrics, "a", encoding="utf-8") as file:
            file.write(line + "\n")
