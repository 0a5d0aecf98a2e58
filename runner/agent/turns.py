"""Whose turn it is: first come, first served among those that want what cannot be had at once."""

import contextlib
import fcntl
import os
import time
from typing import Iterator, List, NamedTuple, Optional, Tuple

from runner.agent.locks import Locks, is_locked
from runner.agent.root import Root
from runner.protocol.errors import DiskFull, ProtocolError
from runner.protocol.files import read_json, write_json
from runner.protocol.times import utc_now

HALL_S = 5.0


class Wants(NamedTuple):
    """`alone`: True wants the host for itself, False shares it, None does not ask."""

    gpus: List[int]
    alone: Optional[bool]


class Waiter(NamedTuple):
    """Who waits, with the number it drew."""

    number: int
    attempt: str
    wants: Wants
    since: str


def collide(one: Wants, other: Wants) -> bool:
    """Whether they cannot run at the same time."""
    asked = one.alone is not None and other.alone is not None
    return bool(set(one.gpus) & set(other.gpus)) or (asked and bool(one.alone or other.alone))


def ahead(waiting: List[Waiter], number: Optional[int], wants: Wants) -> Optional[Waiter]:
    """The last of those who came before and whom one has to let go first. `number` None: just come."""
    before = [each for each in waiting if (number is None or each.number < number) and collide(each.wants, wants)]
    return max(before, key=lambda each: each.number, default=None)


def place(waiter: Waiter) -> str:
    """In words: whom one waits behind, and what that one waits for."""
    wanted = ["the host for itself"] if waiter.wants.alone else []
    if waiter.wants.gpus:
        wanted.append("GPU %s" % ", ".join(map(str, sorted(waiter.wants.gpus))))
    since = waiter.since[:16].replace("T", " ")
    return "behind %s, which waits for %s (since %s UTC)" % (waiter.attempt, " and ".join(wanted) or "its turn", since)


class Turn:
    """One attempt's place in the queue, a file in `queue/` for as long as it waits.

    Drawing a number, looking who is ahead and taking the locks happen in one go, under a lock of the whole queue.
    The place of an attempt whose supervisor has ended is void.
    """

    def __init__(self, root: Root, attempt: str, wants: Wants) -> None:
        self.root = root
        self.attempt = attempt
        self.wants = wants
        self.number: Optional[int] = None

    def take(self, locks: Locks) -> Optional[Tuple[str, str]]:
        """None when all locks are ours now, else whom we wait for ("" when it cannot be told), and why in words."""
        if not locks.handles:
            return None
        with self.hall() as entered:
            if not entered:
                return "", "other launches are taking their turns"
            waiting = self.waiting()
            first = ahead(waiting, self.number, self.wants)
            if first is not None:
                told = first.attempt, place(first)
            else:
                busy = locks.take()
                if busy is None:
                    return None
                told = locks.holder(busy)
            if self.number is None:
                self.join(max((each.number for each in waiting), default=0) + 1)
            return told

    def leave(self) -> None:
        """Whoever is behind moves up."""
        if self.number is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.file(self.number, self.attempt))

    def join(self, number: int) -> None:
        """Without a place, on a full disk, it comes after all who have one, and asks again."""
        body = {"gpus": self.wants.gpus, "alone": self.wants.alone, "since": utc_now()}
        with contextlib.suppress(OSError, DiskFull):
            write_json(self.file(number, self.attempt), body)
            self.number = number

    def waiting(self) -> List[Waiter]:
        """All others that wait. A place that a supervisor of ours had, which was killed, is taken over."""
        found = []
        for name in os.listdir(self.root.queue):
            number, dash, attempt = name.partition("-")
            if not dash or not number.isdigit():
                continue
            if attempt == self.attempt:
                self.number = int(number)
                continue
            file = self.file(int(number), attempt)
            if not is_locked(self.root.attempt(attempt).lock):
                with contextlib.suppress(OSError):
                    os.unlink(file)
                continue
            with contextlib.suppress(ProtocolError, OSError, KeyError):
                body = read_json(file)
                found.append(Waiter(int(number), attempt, Wants(body["gpus"], body["alone"]), body["since"]))
        return found

    def file(self, number: int, attempt: str) -> str:
        return os.path.join(self.root.queue, "%09d-%s" % (number, attempt))

    @contextlib.contextmanager
    def hall(self) -> Iterator[bool]:
        """One at a time. False when somebody stays in it too long: then it is not our turn yet."""
        self.root.make(self.root.queue)
        handle = os.open(os.path.join(self.root.queue, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield entered(handle)
        finally:
            os.close(handle)


def entered(handle: int) -> bool:
    give_up_s = time.monotonic() + HALL_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() > give_up_s:
                return False
            time.sleep(0.01)
