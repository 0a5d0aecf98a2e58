"""Keeps a bounded number of requests in flight, by threads."""

import concurrent.futures
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from runner.protocol.errors import StageError

Job = TypeVar("Job")
Result = TypeVar("Result")
_TICK_S = 0.25


class Pump(Generic[Job, Result]):
    """Runs `work(job)` for what `next_job` gives (None: nothing now), at most `jobs` and `weight` at once.

    A job heavier than `weight` runs when it is alone. `weigh` is asked once a job.
    """

    def __init__(
        self,
        next_job: Callable[[], Job | None],
        work: Callable[[Job], Result],
        *,
        jobs: int,
        weight: int | None = None,
        weigh: Callable[[Job], int] = lambda job: 1,
    ) -> None:
        self._next_job = next_job
        self._work = work
        self._jobs = jobs
        self._weight = weight
        self._weigh = weigh
        self._waiting: Job | None = None  # taken, but too heavy for now
        self._running: dict[concurrent.futures.Future[Result], tuple[Job, int]] = {}
        self._pool = concurrent.futures.ThreadPoolExecutor(jobs, "pump")

    @property
    def in_flight(self) -> int:
        return len(self._running)

    def run(self) -> Iterator[tuple[Job, Result | StageError] | None]:
        """Every job as it ends, with its result or its StageError; None about four times a second.

        Ends when nothing runs and `next_job` gives nothing. Other exceptions of `work` are raised here.
        """
        try:
            while self._fill():
                done, _ = concurrent.futures.wait(
                    self._running, timeout=_TICK_S, return_when=concurrent.futures.FIRST_COMPLETED
                )
                for future in done:
                    job, _ = self._running.pop(future)
                    try:
                        yield job, future.result()
                    except StageError as error:
                        yield job, error
                yield None
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _fill(self) -> bool:
        while len(self._running) < self._jobs:
            job = self._waiting if self._waiting is not None else self._next_job()
            if job is None:
                break
            weight = self._weigh(job)
            used = sum(weight for _, weight in self._running.values())
            if self._running and self._weight is not None and used + weight > self._weight:
                self._waiting = job
                break
            self._waiting = None
            self._running[self._pool.submit(self._work, job)] = (job, weight)
        return bool(self._running)
