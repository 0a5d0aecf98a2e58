"""Polls: one host and a round of 50, ours against other ways over ssh, at 0 and 50 ms round trip.

All ways ask for the same (the started and exit records, the log's size and last 64 KiB, whether the process
lives, free disk), take turns so that the machine's moods hit all of them, and go through the same sshd.
"""

import argparse
import contextlib
import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bot.adapters.hosts import open_host
from bot.adapters.hosts.connection import Connection
from bot.adapters.hosts.deadline import Deadline
from bot.adapters.hosts.route import dial
from bot.adapters.hosts.settings import HostSettings
from bot.adapters.hosts.ssh import CONNECTIONS
from bot.adapters.hosts.sshconfig import resolve
from ops.loopback import LoopbackSshd, free_port
from runner.protocol.files import read_json
from runner.protocol.spec import AttemptSpec
from runner.protocol.view import RUNNING, PollAsk

SPEC = AttemptSpec(attempt="r1-train-1", run="r1", stage="train", token="bench", argv=["sleep", "3600"])
OURS = "agent channel"
ADDRESSES = [f"127.0.7.{n}" for n in range(1, 17)]
HOSTS_AN_ADDRESS = CONNECTIONS  # as many connections as a bot opens to one server; the first address is for one
TURN_S = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one line")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each way (default %(default)s)")
    parser.add_argument("--hosts", type=int, default=50, help="hosts in a round (default %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.rounds, options.hosts)
    if options.json:
        print(json.dumps(found))
    else:
        show(found)
    return 0


def measure(folder: Path, rounds: int, hosts: int) -> dict[str, object]:
    sshd = LoopbackSshd(folder / "sshd", "MaxStartups 400:30:800", ADDRESSES)
    first = open_host("box", sshd.settings(folder / "root", ADDRESSES[0]))
    first.launch(SPEC, {})
    try:
        found: dict[str, object] = {"start_ms": start_ms(sshd, folder), "idle": idle_cost(folder)}
        for round_trip_ms in (0, 50):
            with delayed(sshd, round_trip_ms) as reach:
                one, many = poll_one(reach, folder, rounds), poll_many(reach, folder, hosts, max(3, rounds // 3))
            found[f"{round_trip_ms}ms"] = {"one": one, f"{hosts} hosts": many}
        return found
    finally:
        first.kill(SPEC.attempt, SPEC.token, 0)
        first.close()
        sshd.stop()


Reach = Callable[[int], HostSettings]


@contextlib.contextmanager
def delayed(sshd: LoopbackSshd, round_trip_ms: int) -> Iterator[Reach]:
    """Settings of host n, behind a proxy where there is a delay."""
    port, root = free_port(), sshd.state.parent / "root"

    def reach(n: int) -> HostSettings:
        return sshd.settings(root, ADDRESSES[1 + n // HOSTS_AN_ADDRESS], port if round_trip_ms else sshd.port)

    if not round_trip_ms:
        yield reach
        return
    argv = [sys.executable, "ops/loopback.py", str(round_trip_ms / 2000), str(sshd.port), str(port), *ADDRESSES]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as proxy:
        assert proxy.stdout is not None and proxy.stdout.readline() == b"up\n"
        try:
            yield reach
        finally:
            proxy.kill()


def poll_one(reach: Reach, folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    with contextlib.ExitStack() as stack:
        ways = {
            OURS: stack.enter_context(agent_channel(reach(0))),
            "one byte to cat and back": stack.enter_context(echo(reach(0))),
            "warm exec channel": stack.enter_context(warm_exec(reach(0), folder)),
            "new paramiko connection": new_connection(reach(0), folder),
            "OpenSSH ControlMaster": stack.enter_context(control_master(reach(0), folder)),
        }
        return compare(ways, rounds)


def poll_many(reach: Reach, folder: Path, hosts: int, rounds: int) -> dict[str, dict[str, float]]:
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(hosts))
        ours = list(pool.map(lambda n: stack.enter_context(agent_channel(reach(n))), range(hosts)))
        theirs = list(pool.map(lambda n: stack.enter_context(warm_exec(reach(n), folder)), range(hosts)))
        ways = {
            OURS: lambda: list(pool.map(lambda poll: poll(), ours)),
            "warm exec channel": lambda: list(pool.map(lambda poll: poll(), theirs)),
        }
        return compare(ways, rounds)


def compare(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, dict[str, float]]:
    """Median wall and mean CPU milliseconds of each way, and their ratios to ours.

    They take turns; a turn lasts `TURN_S`, and one poll at least.
    """
    walls: dict[str, list[float]] = {name: [] for name in ways}
    cpus = dict.fromkeys(ways, 0.0)
    for _ in range(rounds):
        for name, poll in ways.items():
            cpu, turn_began_s = cpu_s(), time.perf_counter()
            while True:
                began_s = time.perf_counter()
                poll()
                ended_s = time.perf_counter()
                walls[name].append((ended_s - began_s) * 1000)
                if ended_s - turn_began_s > TURN_S:
                    break
            cpus[name] += (cpu_s() - cpu) * 1000
    cpus = {name: spent / len(walls[name]) for name, spent in cpus.items()}
    medians = {name: statistics.median(values) for name, values in walls.items()}
    return {
        name: {
            "ms": round(medians[name], 2),
            "best_ms": round(min(walls[name]), 2),
            "cpu_ms": round(cpus[name], 2),
            "ratio": round(medians[name] / medians[OURS], 2),
        }
        for name in ways
    }


def cpu_s() -> float:
    """Our own CPU time and that of children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@contextlib.contextmanager
def agent_channel(settings: HostSettings) -> Iterator[Callable[[], object]]:
    host = open_host("box", settings)
    ask = PollAsk(SPEC.attempt, SPEC.token, 0)

    def poll() -> None:
        assert host.poll([ask]).attempts[0].state == RUNNING

    poll()
    yield poll
    host.close()


def question(settings: HostSettings) -> str:
    """What the other ways run: one shell command that tells as much."""
    folder = shlex.quote(f"{settings.root}/attempts/{SPEC.attempt}")
    return (
        f"cd {folder}; cat started.json exit.json 2>/dev/null; stat -c %s,%Y log.txt; tail -c 65536 log.txt;"
        ' kill -0 $(sed \'s/.*"pid":\\([0-9]*\\),"start.*/\\1/\' started.json | head -1); df -k . | tail -1'
    )


def connect(settings: HostSettings) -> Connection:
    destination, deadline = resolve(settings), Deadline(120)
    connection = Connection("box", destination, dial("box", destination, deadline))
    connection.open(deadline)
    return connection


def execute(connection: Connection, command: str) -> None:
    channel = connection.open_session(Deadline(60))
    channel.exec_command(command)
    out = b""
    while data := channel.recv(1 << 16):
        out += data
    assert b"bench" in out
    channel.close()


@contextlib.contextmanager
def echo(settings: HostSettings) -> Iterator[Callable[[], object]]:
    """The floor: one round trip through the same sshd."""
    connection = connect(settings)
    channel = connection.open_session(Deadline(60))
    channel.exec_command("cat")

    def poll() -> None:
        channel.sendall(b"x")
        assert channel.recv(1) == b"x"

    yield poll
    connection.close()


@contextlib.contextmanager
def warm_exec(settings: HostSettings, folder: Path) -> Iterator[Callable[[], object]]:
    connection = connect(settings)
    yield lambda: execute(connection, question(settings))
    connection.close()


def new_connection(settings: HostSettings, folder: Path) -> Callable[[], object]:
    def poll() -> None:
        connection = connect(settings)
        execute(connection, question(settings))
        connection.close()

    return poll


@contextlib.contextmanager
def control_master(settings: HostSettings, folder: Path) -> Iterator[Callable[[], object]]:
    socket = folder / "master"
    argv = ["ssh", "-S", str(socket), "-p", str(settings.port), "-i", str(settings.identity), "-oBatchMode=yes"]
    argv += [f"-oUserKnownHostsFile={settings.known_hosts}", settings.address]
    subprocess.run([*argv[:1], "-MNf", *argv[1:]], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def poll() -> None:
        done = subprocess.run([*argv, question(settings)], capture_output=True, check=True)
        assert b"bench" in done.stdout

    yield poll
    subprocess.run([*argv[:1], "-O", "exit", *argv[1:]], capture_output=True)


def start_ms(sshd: LoopbackSshd, folder: Path) -> float:
    """From nothing to the first answer: connect, log in, send the agent, poll. Best of five."""
    times = []
    for _ in range(5):
        host = open_host("box", sshd.settings(folder / "root", ADDRESSES[0]))
        began_s = time.perf_counter()
        host.poll([])
        times.append((time.perf_counter() - began_s) * 1000)
        host.close()
    return round(min(times), 1)


def idle_cost(folder: Path) -> dict[str, float]:
    """Supervisor and wrapper of a sleeping attempt: private memory, CPU seconds over two seconds."""
    started = read_json(str(folder / "root/attempts" / SPEC.attempt / "started.json"))
    pids = [started["supervisor"]["pid"], started["pid"]]
    before = sum(ticks(pid) for pid in pids)
    time.sleep(2)
    return {
        "private_dirty_mb": round(sum(kilobytes(pid, "Private_Dirty") for pid in pids) / 1024, 2),
        "private_mb": round(sum(kilobytes(pid, "Private_") for pid in pids) / 1024, 2),
        "cpu_s": (sum(ticks(pid) for pid in pids) - before) / os.sysconf("SC_CLK_TCK"),
    }


def ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def kilobytes(pid: int, word: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(word))


def show(found: dict[str, object]) -> None:
    print(f"agent start and first answer: {found['start_ms']} ms; an idle attempt: {found['idle']}")
    for place, tables in found.items():
        if not isinstance(tables, dict) or "one" not in tables:
            continue
        for title, ways in tables.items():
            print(f"\n{title}, round trip {place}")
            for name, row in ways.items():
                cells = f"{row['ms']:9.2f} ms  best {row['best_ms']:9.2f}  cpu {row['cpu_ms']:8.2f} ms"
                print(f"  {name:26}{cells}  x{row['ratio']:.1f}")


if __name__ == "__main__":
    sys.exit(main())
