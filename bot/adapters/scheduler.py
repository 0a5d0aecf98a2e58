"""The tick: APScheduler with one job, in memory, UTC; due times live in the database and in monotonic clocks."""

import logging
from collections.abc import Callable

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

log = logging.getLogger(__name__)


class Ticker:
    """Calls `tick` every `every_s`; a tick that is late or slow is not made up for, the next one comes as usual."""

    def __init__(self, tick: Callable[[], None], every_s: float) -> None:
        self._scheduler = BackgroundScheduler(
            jobstores={"default": MemoryJobStore()},
            executors={"default": ThreadPoolExecutor(1)},
            timezone="UTC",
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )
        self._scheduler.add_job(tick, IntervalTrigger(seconds=every_s), id="tick")

    def start(self) -> None:
        self._scheduler.start()

    def stop(self) -> None:
        """Waits for a tick that is under way."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)
