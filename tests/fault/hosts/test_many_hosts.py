"""Ten hung hosts and forty healthy ones, all behind real sshds: the healthy are polled on time."""

import itertools
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters.hosts import open_host
from bot.adapters.hosts.embedded import find_sshd
from bot.adapters.hosts.host import AgentHost
from bot.service.polls import Polls
from runner.protocol.view import HostView, PollAsk
from tests.fault.hosts.test_silent_host import stop_all
from tests.hosting.sshd import Sshd
from tests.scenario.desk import desk_of

pytestmark = [pytest.mark.sshd, pytest.mark.slow]
HUNG, HEALTHY, POLL_S, WATCHED_S = 10, 40, 2.0, 12.0


class Timed:
    """A host that keeps when it was asked and when it had answered."""

    def __init__(self, host: AgentHost) -> None:
        self.host, self.name = host, host.name
        self.asked_s: list[float] = []
        self.answered = 0

    def poll(self, asks: Sequence[PollAsk]) -> HostView:
        self.asked_s.append(time.monotonic())
        view = self.host.poll(asks)
        self.answered += 1
        return view

    def longest_gap_s(self, until_s: float) -> float:
        times = [*self.asked_s, until_s]
        return max(after - before for before, after in itertools.pairwise(times))


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[Sshd, dict[str, Timed]]]:
    """Fifty addresses, each a server of its own for the bot; the first ten lead to an sshd that will be stopped."""
    if not find_sshd():
        pytest.skip("no sshd here: apt-get install openssh-server")
    sick, well = (Sshd(tmp_path / name, "MaxStartups 400:30:800", address="0.0.0.0") for name in ("sick", "well"))
    found = {}
    for n in range(HUNG + HEALTHY):
        sshd, name, address = (sick if n < HUNG else well), f"box{n}", f"127.0.9.{n + 1}"
        known = tmp_path / f"known{n}"
        known.write_text(f"[{address}]:{sshd.port} {sshd.host_key_line()}\n")
        settings = sshd.settings("ssh", tmp_path / "root", known_hosts=str(known), call_s=60.0)
        found[name] = Timed(open_host(name, replace(settings, address=f"root@{address}")))
    yield sick, found
    stop_all(sick, signal.SIGCONT)
    for timed in found.values():
        timed.host.close()
    for sshd in (sick, well):
        sshd.stop()


def test_the_healthy_are_polled_on_time(hosts: tuple[Sshd, dict[str, Timed]], tmp_path: Path) -> None:
    sick, found = hosts
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda timed: timed.host.poll([]), found.values()))
    stop_all(sick, signal.SIGSTOP)
    desk = desk_of(found, tmp_path, poll_s=POLL_S)
    polls = Polls(desk)
    until_s = time.monotonic() + WATCHED_S
    while time.monotonic() < until_s:
        polls.tick()
        time.sleep(0.1)
    hung, healthy = list(found.values())[:HUNG], list(found.values())[HUNG:]
    assert [timed.answered for timed in hung] == [0] * HUNG
    gaps_s = sorted(timed.longest_gap_s(until_s) for timed in healthy)
    assert gaps_s[-1] < 2 * POLL_S, gaps_s
    assert all(timed.answered >= WATCHED_S / POLL_S - 2 for timed in healthy)
    stop_all(sick, signal.SIGCONT)
    assert polls.close(30)
    desk.store.close()  # type: ignore[attr-defined]
