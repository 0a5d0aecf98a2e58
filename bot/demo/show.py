"""A demo while it runs: its parts, what can be seen of the run, and how it all ends."""

import signal
import sys
import threading
import time
from http.client import HTTPException
from pathlib import Path
from types import FrameType, TracebackType

from bot.cli import wiring
from bot.config import load_config
from bot.core.model import Run
from bot.demo import attempts
from bot.demo.parts import Part, PartEnded
from bot.demo.place import Place
from bot.errors import BotError
from bot.workspace.client import ControlClient
from bot.workspace.roster import APP_TOKEN, BOT_TOKEN, BOT_USER

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BOT_STOP_S = 25.0  # longer than it takes, whatever hangs
CONNECT_S = 60.0


class Stopped(BotError):
    """A signal ended the demo."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


class Show:
    """As a context: everything is up inside, and nothing is left of it outside, however it ends."""

    def __init__(self, place: Place, pipeline: Path, port: int, undo_s: float) -> None:
        self.place, self._pipeline, self._port, self._undo_s = place, pipeline, port, undo_s
        self._parts: dict[str, Part] = {}
        self._signal = 0
        self._wake = threading.Event()
        self.began_s = time.monotonic()

    def __enter__(self) -> "Show":
        for number in SIGNALS:
            signal.signal(number, self._signalled)
        self.place.folder.mkdir(parents=True, exist_ok=True)
        try:
            self.url = self._open_workspace()
            self.control = ControlClient(self.url)
            self.place.configure(self.control.api_url, self._pipeline, self._undo_s)
            self.start_bot()
            self._store = wiring.open_database(load_config(self.place.config))
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._store.close()
        ended = self._ended_part() if isinstance(error, OSError | HTTPException) else None
        self._close()
        if ended is not None:
            raise ended from error

    def _ended_part(self) -> PartEnded | None:
        """Why nobody answers: the part that is gone, if one is."""
        until_s = time.monotonic() + 1.0
        while time.monotonic() < until_s:
            try:
                for part in self._parts.values():
                    part.check()
            except PartEnded as ended:
                return ended
            time.sleep(0.05)
        return None

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self._signal = self._signal or number
        self._wake.set()

    def pause(self, seconds: float) -> None:
        """Wait. Raises Stopped, and PartEnded when a part is gone."""
        self._wake.wait(seconds)
        if self._signal:
            raise Stopped(self._signal)
        for part in self._parts.values():
            part.check()

    def say(self, text: str) -> None:
        """A line of progress, on stderr: stdout is for the result."""
        print(f"{time.monotonic() - self.began_s:5.0f} s  {text}", file=sys.stderr, flush=True)

    def _open_workspace(self) -> str:
        argv = [sys.executable, "-m", "bot.workspace", "--port", str(self._port), "--state", str(self.place.workspace)]
        log = self.place.log("workspace")
        log.write_bytes(b"")
        self._parts["workspace"] = Part.start("workspace", argv, {}, log)
        until_s = time.monotonic() + CONNECT_S
        while time.monotonic() < until_s:
            self.pause(0.1)
            for line in log.read_text().splitlines():
                if line.startswith("workspace http"):
                    return line.split()[1].rstrip("/")
        raise BotError(f"the workspace does not come up; its log: {log}")

    def start_bot(self) -> None:
        """Start the bot and wait until it listens."""
        argv = [sys.executable, "-m", "bot", "up", "--config", str(self.place.config)]
        tokens = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}
        self._parts["bot"] = Part.start("bot", argv, tokens, self.place.log("bot"))
        until_s = time.monotonic() + CONNECT_S
        while not self.control.counters()["connections"]:
            if time.monotonic() > until_s:
                raise BotError(f"the bot does not connect; its log: {self.place.log('bot')}")
            self.pause(0.2)

    def kill_bot(self) -> None:
        """SIGKILL, without a word to anybody."""
        self._parts.pop("bot").kill()

    def run(self) -> Run | None:
        """The newest run, as the bot has recorded it."""
        runs = self._store.all_runs()
        return runs[-1] if runs else None

    def ask(self, text: str, thread_ts: str | None = None) -> str:
        """Speak as the operator: in a thread, or in the channel to the bot. Returns the message's ts."""
        if thread_ts:
            return str(self.control.post(text, thread_ts=thread_ts)["ts"])
        return str(self.control.post(f"<@{BOT_USER}> {text}")["ts"])

    def thread(self, run: Run) -> str | None:
        """The ts of the run's status card, once it is posted."""
        posted = self._store.post(f"{run.id}/status")
        return posted.ts if posted else None

    def logs(self) -> str:
        return f"logs of bot and workspace: {self.place.folder}/*.log"

    def _close(self) -> None:
        """The bot first, so that it starts nothing more; then what runs on the host; then the workspace."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        if "bot" in self._parts:
            self._parts["bot"].stop(BOT_STOP_S)
        try:
            for trouble in attempts.end_all(self.place) if self.place.config.exists() else ():
                self.say(trouble)
        finally:
            if "workspace" in self._parts:
                self._parts["workspace"].stop(5.0)
