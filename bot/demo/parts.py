"""The demo's own processes: started, watched, and ended in order."""

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bot.demo.place import CHECKOUT
from bot.errors import BotError


class PartEnded(BotError):
    """A process of the demo ended by itself."""

    def __init__(self, name: str, rc: int, log: Path) -> None:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
        super().__init__("\n  ".join([f"the {name} ended by itself (exit {rc}); its log: {log}", *lines]))


@dataclass(frozen=True, kw_only=True)
class Part:
    """One running process. A terminal's Ctrl-C does not reach it: the demo ends its parts itself, in order."""

    name: str
    log: Path
    process: subprocess.Popen[bytes]

    @staticmethod
    def start(name: str, argv: list[str], env: dict[str, str], log: Path) -> "Part":
        with log.open("ab") as out:
            process = subprocess.Popen(
                argv,
                cwd=CHECKOUT,
                env=os.environ | env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                process_group=0,
            )
        return Part(name=name, log=log, process=process)

    def check(self) -> None:
        """Raises PartEnded."""
        rc = self.process.poll()
        if rc is not None:
            raise PartEnded(self.name, rc, self.log)

    def stop(self, grace_s: float) -> None:
        """TERM; after `grace_s`, KILL, with whatever is left of its process group."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(grace_s)
            except subprocess.TimeoutExpired:
                self.kill()
        self._sweep()

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()

    def _sweep(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
