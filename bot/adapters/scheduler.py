"""The tick: APScheduler with one job, in memory, UTC; due times live in the database and in monotonic clocks."""

import logging
import threading
import time
from collections.abc import Callable

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

log = logging.getLogger(__name__)
LATE = 3.0  # times its interval


class Ticker:
    """Calls `tick` every `every_s`; a tick that is late or slow is not made up for, the next one comes as usual.

    APScheduler goes by the wall clock: set back an hour, it would be silent for an hour. A watch by the monotonic
    clock has it reckon anew.
    """

    def __init__(self, tick: Callable[[], None], every_s: float) -> None:
        self._call, self._every_s = tick, every_s
        self._scheduler = BackgroundScheduler(
            jobstores={"default": MemoryJobStore()},
            executors={"default": ThreadPoolExecutor(1)},
            timezone="UTC",
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._scheduler.add_job(self._tick, IntervalTrigger(seconds=every_s), id="tick")
        self._begun_s = time.monotonic()
        self._stop = threading.Event()
        self._watch = threading.Thread(target=self._look, name="tick-watch", daemon=True)

    def start(self) -> None:
        self._begun_s = time.monotonic()
        self._scheduler.start()
        self._watch.start()

    def stop(self) -> None:
        """Waits for a tick that is under way."""
        self._stop.set()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def _tick(self) -> None:
        self._begun_s = time.monotonic()
        self._call()

    def _look(self) -> None:
        while not self._stop.wait(self._every_s):
            if time.monotonic() - self._begun_s > LATE * self._every_s:
                log.warning("no tick for %.0f s: the clock was set back, or the machine slept", LATE * self._every_s)
                self._begun_s = time.monotonic()
                self._scheduler.reschedule_job("tick", trigger=IntervalTrigger(seconds=self._every_s))
