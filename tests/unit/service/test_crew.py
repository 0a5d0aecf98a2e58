"""A crew of threads: nothing that was submitted waits for what hangs, as long as there may be another thread."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bot.service.crew import Crew


class Slow:
    """A queue whose first customer is held up, by a busy machine say, once it has taken its piece of work."""

    def __init__(self) -> None:
        self._real: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.put, self.qsize, self.empty = self._real.put, self._real.qsize, self._real.empty
        self.taken, self.goes = threading.Event(), threading.Event()

    def get(self) -> Any:
        found = self._real.get()
        if not self.taken.is_set():
            self.taken.set()
            self.goes.wait(10)
        return found


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew("test", 3)
    yield made
    assert made.close(5)


def done(crew: Crew) -> Callable[[], bool]:
    """Submits something short; tells whether it is done in time."""
    event = threading.Event()
    crew.submit(event.set)
    return lambda: event.wait(5)


def test_what_is_submitted_while_a_thread_takes_its_work_does_not_wait_for_that(crew: Crew) -> None:
    slow: Any = Slow()
    crew._work = slow
    hangs = threading.Event()
    crew.submit(hangs.wait, 10)
    assert slow.taken.wait(5)
    assert done(crew)(), "though the first one has not said yet that it is busy"
    slow.goes.set()
    hangs.set()


def test_what_hangs_holds_up_nothing_else(crew: Crew) -> None:
    hangs = threading.Event()
    for _ in range(2):
        crew.submit(hangs.wait, 10)
    assert all(each() for each in [done(crew), done(crew), done(crew)])
    hangs.set()


def test_what_is_raised_ends_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    crew = Crew("test", 1)
    crew.submit(int, "x")
    assert done(crew)() and "invalid literal" in caplog.text
    assert crew.close(5)


def test_nothing_is_taken_once_closed() -> None:
    crew = Crew("test", 1)
    assert crew.close(1)
    ran = threading.Event()
    crew.submit(ran.set)
    assert not ran.wait(0.05)
