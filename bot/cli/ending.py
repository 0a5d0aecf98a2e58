"""How the bot ends: part after part, and within a stated time after it was asked to, whatever hangs."""

import faulthandler
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

log = logging.getLogger("bot")
SIGNALS = (signal.SIGTERM, signal.SIGINT)
END_S = 20.0  # a service manager has to wait longer before it kills
PART_S = 3.0
TELL_S = 1.0


class Ending:
    """`asked` is set by the first signal, or by `begin`. A second signal ends the process at once.

    A thread of its own hears the signals: the main thread may be in a call that does not come back, and a handler
    there may not take a lock.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()

    def listen(self) -> None:
        """To be called from the main thread."""
        heard, told = self._sockets = socket.socketpair()
        told.setblocking(False)
        signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        for each in SIGNALS:
            signal.signal(each, lambda *_: None)
        threading.Thread(target=self._hear, args=(heard,), name="signals", daemon=True).start()

    def begin(self) -> None:
        """END_S from now the process is over: else the stacks of all threads are told, and it ends in failure."""
        if self.asked.is_set():
            return
        last = threading.Timer(END_S + 1, os._exit, (1,))  # should nobody read what is told
        last.daemon = True
        last.start()
        with suppress(RuntimeError):  # where there is no standard error to tell them to
            faulthandler.dump_traceback_later(END_S, exit=True)
        self.asked.set()
        _tell(logging.INFO, "ending")

    def let_go(self, parts: Mapping[str, Callable[[], object]], within_s: float = PART_S) -> None:
        """Stop them side by side; what takes longer, or fails, is left: what it holds ends with the process."""
        threads = {what: threading.Thread(target=_stop, args=(what, stop), daemon=True) for what, stop in parts.items()}
        until_s = time.monotonic() + within_s
        for thread in threads.values():
            thread.start()
        for what, thread in threads.items():
            thread.join(max(0.0, until_s - time.monotonic()))
            if thread.is_alive():
                log.warning("left behind: %s did not stop within %g s", what, within_s)

    def _hear(self, heard: socket.socket) -> None:
        while number := heard.recv(1):
            if number[0] not in SIGNALS:  # every signal that has a handler comes by here, whoever gave it one
                continue
            if self.asked.is_set():
                _tell(logging.WARNING, "asked again to end: whatever is under way is left behind")
                os._exit(128 + number[0])
            self.begin()


def _tell(level: int, text: str) -> None:
    """Who hears the signals does not wait for a log that nobody reads."""
    telling = threading.Thread(target=log.log, args=(level, text), daemon=True)
    telling.start()
    telling.join(TELL_S)


def _stop(what: str, stop: Callable[[], object]) -> None:
    try:
        stop()
    except Exception:
        log.exception("%s could not be stopped", what)
