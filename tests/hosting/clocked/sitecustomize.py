"""For processes under libfaketime: up to 0.9.10 it takes Python's sleeps for ones until a date, and refuses them."""

import select
import time


def sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select((), (), (), seconds)


time.sleep = sleep
