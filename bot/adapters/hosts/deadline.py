"""A point in time by which a call has to be over."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Deadline:
    """Counts on the monotonic clock, from its making."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.at_s = time.monotonic() + seconds

    def left_s(self) -> float:
        """Seconds left. Raises TimeoutError when there are none."""
        left_s = self.at_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"no answer within {self.seconds:.0f} s")
        return left_s

    @contextmanager
    def enforced(self, end: Callable[[], None]) -> Iterator[None]:
        """Call `end` from another thread if the body is not over in time: for calls that know no deadline."""
        timer = threading.Timer(self.left_s(), end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
